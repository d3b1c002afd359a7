// SPDX-License-Identifier: GPL-2.0-or-later
// A sequence diagram of any length: folds, zooms, searches; only the rows in view exist.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { BOX, CALL, Calls, GAP, LOOP, RETURN, VALUE, type Layout, type SequenceDocument } from './calls';
import { duration, whole } from './format';
import { Empty } from './parts';

const ROW_H = 20, HEAD_H = 28, PITCH_MIN = 110, PITCH_MAX = 230, ZOOM_MIN = 0.4, ZOOM_MAX = 3;

function pitchOf(doc: SequenceDocument): number {
  return doc.lines.reduce((pitch, name) =>
    Math.max(pitch, Math.min((name ?? '').length * 7 + 24, PITCH_MAX)), PITCH_MIN);
}

// Where everything lies at a zoom.
class Geometry {
  readonly height: number;
  readonly pitch: number;
  readonly width: number;
  readonly font: number;

  constructor(readonly calls: Calls, readonly layout: Layout, zoom: number, pitch: number) {
    this.height = Math.round(ROW_H * zoom);
    this.pitch = Math.round(pitch * Math.max(zoom, ZOOM_MIN));
    this.width = 32 + this.pitch * Math.max(layout.used.length, 1) + 260;
    this.font = Math.max(8, Math.round(11 * zoom));
  }

  x(line: number): number {
    return 16 + this.pitch / 2 + this.layout.slot[line]! * this.pitch;
  }

  // As wide as its content, with room for the last label; inner frames lie inside.
  frame(i: number): [number, number] {
    const { low, high, level } = this.calls, inset = Math.min(level[i]!, 8) * 4;
    if (high[i]! < 0)
      return [6, this.width - 6];
    return [this.x(low[i]!) - this.pitch / 2 + 2 + inset,
      Math.min(this.x(high[i]!) + this.pitch / 2 + 120, this.width - 6) - inset];
  }

  // A label is at the left end of its row, or at the edge of what is in view where the row goes on to the left.
  textAt(i: number, edge: number): number {
    const { kind, from, to } = this.calls.doc, k = kind[i]!;
    const a = Math.min(this.x(from[i]!), this.x(to[i]!)), b = Math.max(this.x(from[i]!), this.x(to[i]!));
    const room = (this.calls.words(i).length + 9) * 0.6 * this.font;
    const [left, right] = k === LOOP || k === BOX ? this.frame(i) : [0, 0];
    const [begin, end] = k === LOOP || k === BOX ? [left + 6, right] : k === GAP ? [30, this.width]
      : a === b ? [a + 24, a + 24] : [a + 10, b];
    return Math.max(begin, Math.min(edge + 10, end - room));
  }
}

function Arrow({ at, i, y }: { at: Geometry; i: number; y: number }) {
  const { kind, from, to } = at.calls.doc, k = kind[i]!;
  if (!at.calls.isArrow(i))
    return null;
  const a = at.x(from[i]!), b = at.x(to[i]!);
  const is = k === RETURN ? 'return' : k === VALUE ? 'value' : 'call';
  if (a === b)
    return k === RETURN ? null : <g class={`arrow-${is}`}>
      <path class="shaft" d={`M${a} ${y - 3}h16v7h-10`} /><path class="tip" d={`M${a + 4} ${y + 4}l6 -3v6z`} /></g>;
  return (
    <g class={`arrow-${is}`}>
      <path class="shaft" d={`M${a} ${y}H${b}`} />
      <path class="tip" d={`M${b} ${y}l${b > a ? -7 : 7} -4v8z`} />
    </g>
  );
}

function Bar({ at, i, first }: { at: Geometry; i: number; first: number }) {
  const { calls, layout, height } = at, end = calls.match[i]!;
  const last = end > 0 && layout.rowOf[end]! >= 0 ? layout.rowOf[end]! : layout.rowOf[i]!;
  const top = (layout.rowOf[i]! - first + 0.5) * height, bottom = (last - first + 0.5) * height;
  return <rect class="life-bar" x={at.x(calls.doc.to[i]!) - 4} y={top} width={8} height={Math.max(bottom - top, 4)} />;
}

function describe(calls: Calls, i: number): string {
  const { kind, to, lines, lat_ns: took, start_ns: start } = calls.doc;
  return [calls.label(i) || calls.words(i), took[i] ? `took ${duration(took[i]!)}` : '',
    `at +${duration(start[i]!)}`, kind[i] === CALL ? `in ${lines[to[i]!] ?? '-'}` : '']
    .filter((text) => text).join('\n');
}

interface View { top: number; left: number; height: number }

function Picture({ at, view, active, hits, press }: {
  at: Geometry; view: View; active: number; hits: Set<number>; press: (item: number) => void;
}) {
  const { calls, layout, height } = at, { kind } = calls.doc;
  const first = Math.max(0, Math.floor(view.top / height) - 5);
  const last = Math.min(layout.rows.length, first + Math.ceil(view.height / height) + 12);
  const shown = layout.rows.slice(first, last);
  const around: number[] = [];
  for (let i = shown.length ? calls.parent[shown[0]!]! : -1; i >= 0; i = calls.parent[i]!)
    if (kind[i] === CALL)
      around.push(i);
  return (
    <svg class="sequence-picture" width={at.width} height={Math.max(1, last - first) * height}
      style={{ top: `${HEAD_H + first * height}px` }} aria-hidden="true">
      {layout.frames.filter((frame) => frame.end >= first && frame.begin <= last).map((frame) => {
        const [left, right] = at.frame(frame.item), top = Math.max(frame.begin - first, -2) * height + 2;
        return <rect key={frame.item} class={kind[frame.item] === BOX ? 'frame-box' : 'frame-loop'} x={left} y={top}
          width={right - left} height={(Math.min(frame.end, last + 2) - first) * height + height / 2 - top} rx="3" />;
      })}
      {layout.used.map((line) => <line key={line} class="lifeline" x1={at.x(line)} y1="0" x2={at.x(line)}
        y2={(last - first) * height} />)}
      {around.map((i) => <Bar key={i} at={at} i={i} first={first} />)}
      {shown.filter((i) => kind[i] === CALL).map((i) => <Bar key={i} at={at} i={i} first={first} />)}
      {shown.map((i, r) => {
        const k = kind[i]!, y = (r + 0.5) * height, flat = calls.doc.from[i] === calls.doc.to[i];
        return (
          <g key={i} class={`sequence-row${hits.has(i) ? ' found' : ''}${first + r === active ? ' now' : ''}`}
            onClick={() => press(i)}>
            <title>{describe(calls, i)}</title>
            <rect class="hit" x="0" y={y - height / 2} width={at.width} height={height} />
            <Arrow at={at} i={i} y={y} />
            <text class={k === BOX ? 'box-name' : k === LOOP ? 'loop-name' : k === GAP ? 'gap-name' : ''}
              x={at.textAt(i, view.left)} y={flat || (k > RETURN && k !== VALUE) ? y + 4 : y - 4}
              style={{ fontSize: `${at.font}px` }}>{calls.words(i)}
              {k === CALL && calls.doc.lat_ns[i] ? <tspan class="took" dx="6">
                {duration(calls.doc.lat_ns[i]!)}</tspan> : null}
            </text>
          </g>);
      })}
    </svg>
  );
}

function Heads({ at }: { at: Geometry }) {
  const { lines } = at.calls.doc, room = Math.max(3, Math.floor((at.pitch - 12) / 7));
  return (
    <svg class="sequence-heads" width={at.width} height={HEAD_H} aria-hidden="true">
      {at.layout.used.map((line) => {
        const name = lines[line] ?? '-';
        return (
          <g key={line}><title>{name}</title>
            <rect x={at.x(line) - at.pitch / 2 + 3} y="2" width={at.pitch - 6} height={HEAD_H - 5} rx="3" />
            <text x={at.x(line)} y={HEAD_H - 10}>{name.length > room ? `…${name.slice(1 - room)}` : name}</text></g>);
      })}
    </svg>
  );
}

export function Sequence({ document: doc }: { document: SequenceDocument }) {
  const scroller = useRef<HTMLDivElement>(null);
  const calls = useMemo(() => {
    const made = new Calls(doc);
    made.foldTo(made.firstDepth());
    const box = doc.kind.indexOf(BOX);
    if (box >= 0)
      made.reveal(box);
    return made;
  }, [doc]);
  const [depth, setDepth] = useState(0); // 0: as it began
  const [turn, setTurn] = useState(0); // of folding by hand
  const [zoom, setZoom] = useState(1);
  const [text, setText] = useState('');
  const [hit, setHit] = useState(0);
  const [active, setActive] = useState(-1);
  const [view, setView] = useState<View>({ top: 0, left: 0, height: 600 });
  const layout = useMemo(() => calls.layout(), [calls, depth, turn]);
  const at = useMemo(() => new Geometry(calls, layout, zoom, pitchOf(doc)), [calls, layout, zoom]);
  const hits = useMemo(() => (text.trim() ? calls.find(text.trim()) : []), [calls, text]);
  const found = useMemo(() => new Set(hits), [hits]);
  const frame = useRef(0);

  const measure = () => {
    const element = scroller.current;
    if (element)
      setView({ top: element.scrollTop, left: element.scrollLeft, height: element.clientHeight });
  };
  useLayoutEffect(measure, [at]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current)
      observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  // What is gone to, once it is laid out.
  const goal = useRef<number | null>(null);
  const show = (item: number) => {
    calls.reveal(item);
    goal.current = item;
    setTurn((n) => n + 1);
  };
  useLayoutEffect(() => {
    const element = scroller.current, item = goal.current;
    if (item === null || !element)
      return;
    goal.current = null;
    setActive(layout.rowOf[item]!);
    element.scrollTop = Math.max(0, layout.rowOf[item]! * at.height - element.clientHeight / 2);
    element.scrollLeft = Math.max(0, at.x(doc.to[item]!) - element.clientWidth / 2);
    measure();
  }, [at, turn]);
  useEffect(() => {
    const box = doc.kind.indexOf(BOX);
    setText('');
    setDepth(0);
    setActive(-1);
    if (box >= 0)
      show(box);
    else
      scroller.current?.scrollTo(0, 0);
  }, [doc]);
  useEffect(() => {
    setHit(0);
    if (hits.length)
      show(hits[0]!);
  }, [hits]);

  const step = (by: number) => {
    if (!hits.length)
      return;
    const next = (hit + by + hits.length) % hits.length;
    setHit(next);
    show(hits[next]!);
  };
  const foldTo = (limit: number) => {
    calls.foldTo(limit);
    setDepth(limit);
    setTurn((n) => n + 1);
  };
  // Other lifelines appear and vanish; this one stays under the pointer.
  const press = (item: number) => {
    setActive(layout.rowOf[item]!);
    if (!calls.canFold(item))
      return;
    const element = scroller.current!, was = at.x(doc.to[item]!), left = element.scrollLeft;
    calls.shut[item]! ^= 1;
    const next = new Geometry(calls, calls.layout(), zoom, pitchOf(doc));
    setTurn((n) => n + 1);
    requestAnimationFrame(() => { element.scrollLeft = left + next.x(doc.to[item]!) - was; });
  };
  const move = (by: number) => {
    const to = Math.max(0, Math.min(layout.rows.length - 1, active + by)), element = scroller.current!;
    setActive(to);
    if (to * at.height < element.scrollTop)
      element.scrollTop = to * at.height;
    else if ((to + 1) * at.height + HEAD_H > element.scrollTop + element.clientHeight)
      element.scrollTop = (to + 1) * at.height + HEAD_H - element.clientHeight;
  };
  const page = Math.max(1, Math.floor(view.height / at.height) - 2);
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page),
    Home: () => move(-layout.rows.length), End: () => move(layout.rows.length),
    Enter: () => { if (layout.rows[active] !== undefined) press(layout.rows[active]!); },
  };
  const pressed = (event: KeyboardEvent) => {
    if (!keys[event.key])
      return;
    keys[event.key]!();
    event.preventDefault();
    event.stopPropagation();
  };
  const scale = (factor: number) => {
    const element = scroller.current!, middle = element.scrollTop / at.height;
    const next = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, zoom * factor));
    setZoom(next);
    requestAnimationFrame(() => { element.scrollTop = middle * Math.round(ROW_H * next); });
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey)
      return;
    event.preventDefault();
    scale(event.deltaY < 0 ? 1.15 : 1 / 1.15);
  };
  useEffect(() => {
    const element = scroller.current;
    element?.addEventListener('wheel', wheel, { passive: false });
    return () => element?.removeEventListener('wheel', wheel);
  }, [zoom, at]);
  if (calls.count === 0)
    return <Empty title="No calls">This session has no calls that are included.</Empty>;
  const current = layout.rows[active];
  return (
    <section class="sequence" aria-label={doc.title ?? 'sequence diagram'}>
      <div class="toolbar">
        <input type="search" value={text} placeholder="Search a function" aria-label="Search a function"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && step(event.shiftKey ? -1 : 1)} />
        <button type="button" onClick={() => step(-1)} disabled={!hits.length} aria-label="Previous hit">▲</button>
        <button type="button" onClick={() => step(1)} disabled={!hits.length} aria-label="Next hit">▼</button>
        <span role="status" class="hits">{!text.trim() ? '' : hits.length ? `${hit + 1} of ${whole(hits.length)}`
          : doc.left_out ? 'no hit (not all calls are included)' : 'no hit'}</span>
        <label>depth <input type="range" min={1} max={calls.deepest} value={depth || calls.deepest}
          aria-valuetext={depth ? String(depth) : 'as it began'}
          onInput={(event) => foldTo(Number(event.currentTarget.value))} /></label>
        <button type="button" onClick={() => foldTo(1)}>Fold all</button>
        <button type="button" onClick={() => foldTo(calls.deepest + 1)}>Unfold all</button>
        <button type="button" onClick={() => scale(1 / 1.25)} aria-label="Zoom out">−</button>
        <button type="button" onClick={() => scale(1.25)} aria-label="Zoom in">+</button>
        <span class="quiet rows">{whole(layout.rows.length)} of {whole(calls.count)} rows
          {doc.left_out ? `, ${whole(doc.left_out)} calls not included` : ''}</span>
      </div>
      <div class="sequence-scroll" ref={scroller} tabIndex={0} role="listbox" aria-label="Calls, top to bottom"
        aria-activedescendant={current === undefined ? undefined : 'call-now'} onKeyDown={pressed}
        onScroll={() => {
          cancelAnimationFrame(frame.current);
          frame.current = requestAnimationFrame(measure);
        }}>
        <div class="sequence-space"
          style={{ width: `${at.width}px`, height: `${HEAD_H + layout.rows.length * at.height + 40}px` }}>
          <Heads at={at} />
          <Picture at={at} view={view} active={active} hits={found} press={press} />
        </div>
        {current !== undefined && <span id="call-now" role="option" aria-selected="true" class="only-read">
          {describe(calls, current)}</span>}
        {current === undefined && <span role="option" aria-selected="false" class="only-read">
          {whole(layout.rows.length)} rows</span>}
      </div>
    </section>
  );
}
