// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph: the width of a box is its time, callers are below; compared with another group, its colour says more.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, duration, percent, whole } from './format';
import { useWidth } from './hooks';
import { Empty } from './parts';
import { useTheme } from './theme';

export interface FlameDocument {
  title: string | null; note: string | null; is_time: boolean; is_difference: boolean; names: (string | null)[];
  parent: number[]; value: number[]; before: number[]; count: number[]; name: number[];
}

export interface Placed { depth: Uint32Array; left: Float64Array; own: Float64Array; all: number }

const ROW_H = 18, LETTER = 6.6, NARROW = 0.4, TOP_FUNCTIONS = 20;

// Callers come before their callees. own: the value without the boxes above.
export function placeBoxes(doc: FlameDocument): Placed {
  const n = doc.parent.length;
  const depth = new Uint32Array(n), left = new Float64Array(n), used = new Float64Array(n);
  let all = 0;
  for (let i = 0; i < n; i++) {
    const below = doc.parent[i]!;
    if (below === i) {
      left[i] = all;
      all += doc.value[i]!;
    } else {
      left[i] = left[below]! + used[below]!;
      used[below]! += doc.value[i]!;
      depth[i] = depth[below]! + 1;
    }
  }
  const own = new Float64Array(n);
  for (let i = 0; i < n; i++)
    own[i] = Math.max(0, doc.value[i]! - used[i]!);
  return { depth, left, own, all };
}

export interface FunctionSum { name: string; own: number; before: number; calls: number }

// Time in each function itself, most first; of a difference those that grew most.
export function sumFunctions(doc: FlameDocument, placed: Placed): FunctionSum[] {
  const before = Float64Array.from(doc.before);
  for (let i = doc.parent.length - 1; i >= 0; i--)
    if (doc.parent[i] !== i)
      before[doc.parent[i]!]! -= doc.before[i]!;
  const sums = new Map<number, FunctionSum>();
  doc.name.forEach((name, i) => {
    const sum = sums.get(name) ?? { name: doc.names[name] ?? '-', own: 0, before: 0, calls: 0 };
    sum.own += placed.own[i]!;
    sum.before += Math.max(0, before[i]!);
    sum.calls += doc.count[i]!;
    sums.set(name, sum);
  });
  const weight = (sum: FunctionSum) => (doc.is_difference ? Math.abs(sum.own - sum.before) : sum.own);
  return [...sums.values()].filter((sum) => weight(sum) > 0).sort((a, b) => weight(b) - weight(a));
}

function colour(doc: FlameDocument, i: number, isHit: boolean): string {
  if (isHit)
    return '#c050d0';
  if (doc.is_difference) {
    const share = (doc.value[i]! - doc.before[i]!) / Math.max(doc.value[i]!, doc.before[i]!, 1);
    const pale = Math.round(245 - 150 * Math.min(1, Math.abs(share)));
    return share >= 0 ? `rgb(250,${pale},${pale})` : `rgb(${pale},${pale},250)`;
  }
  let hash = 0;
  for (const letter of doc.names[doc.name[i]!] ?? '')
    hash = (hash * 31 + letter.codePointAt(0)!) >>> 0;
  return `rgb(${225 + hash % 25},${150 + Math.floor(hash / 25) % 80},${70 + Math.floor(hash / 2000) % 50})`;
}

interface Drawn { a: number; b: number; y: number; i: number }

function Functions({ doc, placed, find }:
  { doc: FlameDocument; placed: Placed; find: (name: string) => void }) {
  const amount = doc.is_time ? duration : count;
  const sums = useMemo(() => sumFunctions(doc, placed), [doc]);
  if (sums.length === 0)
    return null;
  return (
    <section class="card">
      <h2>{doc.is_difference ? 'Functions that differ most' : 'Functions'}
        <span class="quiet"> time in the function itself{doc.is_difference ? ', per session' : ''}</span></h2>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Functions">
        <table class="plain">
          <thead><tr><th scope="col">Function</th><th scope="col">{doc.is_difference ? 'Bad' : 'Time'}</th>
            {doc.is_difference ? <><th scope="col">Good</th><th scope="col">Difference</th></>
              : <th scope="col">Share</th>}<th scope="col">Calls</th></tr></thead>
          <tbody>
            {sums.slice(0, TOP_FUNCTIONS).map((sum) => (
              <tr key={sum.name}>
                <th scope="row"><button type="button" class="value" onClick={() => find(sum.name)}
                  title="Search it in the graph"><code>{sum.name}</code></button></th>
                <td>{amount(sum.own)}</td>
                {doc.is_difference ? <><td>{amount(sum.before)}</td>
                  <td class={sum.own > sum.before ? 'changed' : ''}>{sum.own > sum.before ? '+' : '−'}
                    {amount(Math.abs(sum.own - sum.before))}</td></> : <td>{percent(sum.own / (placed.all || 1))}</td>}
                <td>{whole(sum.calls)}</td>
              </tr>))}
          </tbody>
        </table>
      </div>
      {sums.length > TOP_FUNCTIONS && <p class="quiet">{whole(sums.length - TOP_FUNCTIONS)} more.</p>}
    </section>
  );
}

export function Flame({ document: doc }: { document: FlameDocument }) {
  const [attach, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const placed = useMemo(() => placeBoxes(doc), [doc]);
  const [focus, setFocus] = useState(-1);
  const [text, setText] = useState('');
  const [said, setSaid] = useState('');
  const drawn = useRef<Drawn[]>([]);
  const [counts, setCounts] = useState({ boxes: 0, narrow: 0, hits: 0 });
  const amount = doc.is_time ? duration : count;
  const nameOf = (i: number) => doc.names[doc.name[i]!] ?? '-';
  useEffect(() => {
    setFocus(-1);
    setText('');
  }, [doc]);
  useEffect(() => {
    const target = canvas.current;
    if (!target || width === 0)
      return;
    const from = focus < 0 ? 0 : placed.left[focus]!, span = (focus < 0 ? placed.all : doc.value[focus]!) || 1;
    const wanted = text.trim().toLowerCase();
    const isHit = doc.names.map((name) => wanted !== '' && (name ?? '').toLowerCase().includes(wanted));
    let deepest = 0, narrow = 0, hits = 0;
    const boxes: Drawn[] = [];
    for (let i = 0; i < doc.parent.length; i++) {
      const a = Math.max(0, (placed.left[i]! - from) / span * width);
      const b = Math.min(width, (placed.left[i]! + doc.value[i]! - from) / span * width);
      hits += isHit[doc.name[i]!] ? 1 : 0;
      if (b <= 0 || a >= width)
        continue;
      if (b - a < NARROW) {
        narrow++;
        continue;
      }
      deepest = Math.max(deepest, placed.depth[i]!);
      boxes.push({ a, b, y: placed.depth[i]!, i });
    }
    const height = (deepest + 1) * ROW_H + 2, ratio = window.devicePixelRatio || 1;
    target.width = width * ratio;
    target.height = height * ratio;
    target.style.width = `${width}px`;
    target.style.height = `${height}px`;
    const draw = target.getContext('2d')!;
    draw.scale(ratio, ratio);
    draw.font = '11px ui-monospace, monospace';
    for (const box of boxes) {
      box.y = (deepest - box.y) * ROW_H;
      draw.fillStyle = colour(doc, box.i, !!isHit[doc.name[box.i]!]);
      draw.fillRect(box.a, box.y, Math.max(box.b - box.a - 0.5, NARROW), ROW_H - 1);
      const room = Math.floor((box.b - box.a - 6) / LETTER), name = nameOf(box.i);
      if (room >= 3) {
        draw.fillStyle = '#111';
        draw.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, box.a + 3, box.y + 13);
      }
    }
    drawn.current = boxes;
    setCounts({ boxes: boxes.length, narrow, hits });
  }, [doc, width, focus, text, theme]);
  const boxAt = (event: MouseEvent): Drawn | undefined => {
    const box = canvas.current!.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    return drawn.current.find((one) => x >= one.a && x < one.b && y >= one.y && y < one.y + ROW_H);
  };
  const sayBox = (i: number) => `${nameOf(i)}: ${amount(doc.value[i]!)}`
    + ` (${percent(doc.value[i]! / (placed.all || 1))})`
    + (doc.count[i] ? `, ${whole(doc.count[i]!)} ${doc.count[i] === 1 ? 'call' : 'calls'}` : '')
    + (doc.is_difference ? `; good sessions: ${amount(doc.before[i]!)}` : '');
  if (doc.parent.length === 0 || placed.all === 0)
    return <Empty title="No time to show">No session has a call that takes time.</Empty>;
  return (
    <div class="flame">
      <div class="toolbar">
        <input type="search" value={text} placeholder="Search a function" aria-label="Search a function"
          onInput={(event) => setText(event.currentTarget.value)} />
        <button type="button" onClick={() => setFocus(-1)} disabled={focus < 0}>Show all</button>
        <span role="status" class="quiet hits">{text.trim() ? `${whole(counts.hits)} hits; ` : ''}
          {whole(counts.boxes)} boxes{counts.narrow ? `, ${whole(counts.narrow)} too narrow to draw` : ''}
          {focus >= 0 ? `, in ${nameOf(focus)}` : ''}</span>
        {doc.is_difference && <span class="flame-key"><span class="more" /> more than in good sessions
          <span class="less" /> less</span>}
      </div>
      <figure class="card">
        <div ref={attach}>
          <canvas ref={canvas} role="img"
            aria-label={`${doc.title ?? 'flame graph'}; the table below has the functions`}
            onClick={(event) => setFocus(boxAt(event)?.i ?? -1)}
            onMouseMove={(event) => {
              const box = boxAt(event);
              setSaid(box ? sayBox(box.i) : '');
            }} onMouseLeave={() => setSaid('')} />
        </div>
        <figcaption>{said || 'Width: time, with everything called. Click a box to zoom in.'}</figcaption>
      </figure>
      <Functions doc={doc} placed={placed} find={setText} />
    </div>
  );
}
