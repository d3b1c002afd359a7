// SPDX-License-Identifier: GPL-2.0-or-later
// A table of any length: only the rows in view exist. Sorts, moves by keyboard, opens a row.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Field, Row } from './api';
import { fieldValue, heading, isNumber } from './format';

const ROW_H = 28, OVERSCAN = 8, SAMPLE = 300;

const collator = new Intl.Collator('en', { numeric: true });

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number')
    return a - b;
  return collator.compare(String(a), String(b));
}

// Unknown values come last, whatever the direction; equal rows keep their order.
export function sortRows(rows: Row[], sort: string): Row[] {
  const descending = sort.startsWith('-');
  const name = sort.replace(/^[-+]/, '');
  if (!name)
    return rows;
  const known: Row[] = [], unknown: Row[] = [];
  for (const row of rows)
    (row[name] === null || row[name] === undefined ? unknown : known).push(row);
  known.sort((a, b) => (descending ? compare(b[name], a[name]) : compare(a[name], b[name])));
  return known.concat(unknown);
}

// How wide texts are in the font of the page.
function measurer(element: HTMLElement | null): (text: string, bold: boolean) => number {
  const style = element && getComputedStyle(element);
  const context = style ? document.createElement('canvas').getContext('2d') : null;
  if (!style || !context)
    return (text) => 8 * text.length;
  return (text, bold) => {
    context.font = `${bold ? 600 : 400} ${style.fontSize} ${style.fontFamily}`;
    return context.measureText(text).width;
  };
}

const PADDING = 18, ORDER_W = 14, WIDEST = 380;

interface Columns { template: string; least: number }

// Each as wide as the widest of its first values; what is left over is shared in proportion.
function widths(rows: Row[], fields: Field[], element: HTMLElement | null): Columns {
  const measure = measurer(element);
  const pixels = fields.map((field) => {
    const texts = rows.slice(0, SAMPLE).map((row) => fieldValue(row[field.name], field));
    // Of many texts only the longest are measured: letters are not that different.
    const longest = [...new Set(texts)].sort((a, b) => b.length - a.length).slice(0, 5);
    const width = Math.max(measure(heading(field.name), true) + ORDER_W,
      ...longest.map((text) => measure(text, false)));
    return Math.ceil(Math.min(width, WIDEST)) + PADDING;
  });
  return { template: pixels.map((px) => `minmax(${px}px, ${px}fr)`).join(' '),
    least: pixels.reduce((sum, px) => sum + px, 0) };
}

interface Props {
  label: string; rows: Row[]; fields: Field[]; sort: string; keyOf: (row: Row) => string;
  setSort?: (sort: string) => void; open?: (row: Row) => void; opened?: string | null; tail?: boolean;
}

export function Grid({ label, rows, fields, sort, keyOf, setSort, open, opened, tail }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  const [active, setActive] = useState(0);
  // Once measured, a column does not jump with each refresh; new columns are measured again.
  const names = fields.map((field) => field.name).join(',');
  const [columns, setColumns] = useState<Columns>({ template: '', least: 0 });
  useLayoutEffect(() => setColumns(widths(rows, fields, scroller.current)), [names, rows.length > 0, label]);

  const measure = useCallback(() => {
    const element = scroller.current;
    if (element)
      setView({ top: element.scrollTop, height: element.clientHeight });
  }, []);
  useLayoutEffect(measure, [rows.length]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current)
      observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (scroller.current && !tail)
      scroller.current.scrollTop = 0;
    setActive(0);
  }, [sort]);
  // New rows are followed until the reader scrolls up, and again from the end.
  const follows = useRef(true);
  useEffect(() => {
    if (tail && follows.current && scroller.current)
      scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [rows, tail]);
  const scrolled = () => {
    const element = scroller.current!;
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < ROW_H;
    measure();
  };

  const first = Math.max(0, Math.floor(view.top / ROW_H) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_H) + OVERSCAN);
  const page = Math.max(1, Math.floor(view.height / ROW_H) - 2);
  const go = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    const element = scroller.current!;
    setActive(to);
    if (to * ROW_H < element.scrollTop)
      element.scrollTop = to * ROW_H;
    else if ((to + 2) * ROW_H > element.scrollTop + element.clientHeight)
      element.scrollTop = (to + 2) * ROW_H - element.clientHeight;
  };
  const steps: Record<string, () => void> = {
    ArrowDown: () => go(active + 1), ArrowUp: () => go(active - 1), PageDown: () => go(active + page),
    PageUp: () => go(active - page), Home: () => go(0), End: () => go(rows.length - 1),
    Enter: () => rows[active] && open?.(rows[active]!),
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || !steps[event.key])
      return;
    steps[event.key]!();
    event.preventDefault();
    event.stopPropagation();
  };
  const turn = (name: string) => setSort?.(sort === `-${name}` ? name : sort === name ? `-${name}`
    : fields.some((field) => field.name === name && isNumber(field) && field.kind !== 'id') ? `-${name}` : name);
  const activeId = `row-${active}`;
  const placed = { gridTemplateColumns: columns.template, minWidth: `${columns.least}px` };
  return (
    <div class="grid" ref={scroller} role="grid" aria-label={label} aria-rowcount={rows.length + 1} tabIndex={0}
      aria-activedescendant={active >= first && active < last ? activeId : undefined}
      onScroll={scrolled} onKeyDown={pressed}>
      <div class="grid-head" role="row" aria-rowindex={1} style={placed}>
        {fields.map((field) => {
          const order = sort === field.name ? 'ascending' : sort === `-${field.name}` ? 'descending' : 'none';
          return (
            <div role="columnheader" key={field.name} aria-sort={order} title={`${field.name}: ${field.help ?? ''}`}
              class={isNumber(field) ? 'number' : ''}>
              {setSort ? <button type="button" tabIndex={-1} onClick={() => turn(field.name)}>
                {heading(field.name)}
                <span aria-hidden="true" class="order">
                  {order === 'ascending' ? '▲' : order === 'descending' ? '▼' : ''}</span>
              </button> : heading(field.name)}
            </div>);
        })}
      </div>
      <div class="grid-body" role="rowgroup" style={{ height: `${rows.length * ROW_H}px`, minWidth: placed.minWidth }}>
        {rows.slice(first, last).map((row, i) => {
          const index = first + i;
          const is = `grid-row${index === active ? ' active' : ''}${opened && keyOf(row) === opened ? ' opened' : ''}`;
          return (
            <div role="row" key={index} id={`row-${index}`} aria-rowindex={index + 2} class={is}
              aria-selected={index === active}
              style={{ ...placed, transform: `translateY(${index * ROW_H}px)` }}
              onClick={() => { setActive(index); open?.(row); }}>
              {fields.map((field) => (
                <div role="gridcell" key={field.name} class={isNumber(field) ? 'number' : ''}>
                  {fieldValue(row[field.name], field)}
                </div>))}
            </div>);
        })}
      </div>
    </div>
  );
}
