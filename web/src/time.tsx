// SPDX-License-Identifier: GPL-2.0-or-later
// Time: findings and measures on one axis. A span that is dragged holds for all views; two spans are compared.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, type FindingSpan, type Measures, type Params, type Series } from './api';
import { compareMeasures, Comparison } from './comparison';
import { useRecording, useSource, useSpan, useWorld, type Span } from './context';
import { FindingCard } from './finding';
import { dateTime, duration, timeOfDay, withUnit } from './format';
import { useKeys, useLoad, useWidth } from './hooks';
import { useFindings } from './moment';
import { Drawer, Empty, Failed, Loading } from './parts';
import { hasValues, Plot } from './plot';
import { linkTo } from './route';

// What is drawn together; a measure that the server lists and nobody names here gets a plot of its own.
const GROUPS: { title: string; names: string[] }[] = [
  { title: 'Throughput', names: ['rx', 'tx'] },
  { title: 'RTT of connections', names: ['rtt_p50', 'rtt_p90', 'rtt_p99'] },
  { title: 'Retransmissions', names: ['retransmits'] },
  { title: 'Drops', names: ['drops'] },
  { title: 'Drops by reason', names: ['drop.*'] },
  { title: 'Queue (qdisc backlog)', names: ['queue_bytes'] },
  { title: 'CPU', names: ['cpu'] },
  { title: 'Connections', names: ['connections'] },
  { title: 'New connections', names: ['new_connections'] },
];

// 'drop.*' names all of a kind.
function isNamed(series: Series, name: string): boolean {
  return name.endsWith('*') ? series.name.startsWith(name.slice(0, -1)) : series.name === name;
}

export function groupSeries(series: Series[]): { title: string; series: Series[] }[] {
  const groups = GROUPS.map((group) => ({
    title: group.title,
    series: group.names.flatMap((name) => series.filter((one) => isNamed(one, name))),
  })).filter((group) => group.series.length > 0);
  const named = GROUPS.flatMap((group) => group.names);
  return groups.concat(series.filter((one) => !named.some((name) => isNamed(one, name)))
    .map((one) => ({ title: one.title, series: [one] })));
}

// All measures. Some appear later than others: reasons of drops.
export function useMeasures(source: Params, span: Span | null, wanted = true, every = 0) {
  return useLoad(async (signal) => {
    if (!wanted)
      return null;
    return get<Measures>('measures', { ...source, names: 'all', from: span?.from, to: span?.to }, signal);
  }, [source, span?.from, span?.to, wanted], every);
}

export function Lanes({ findings, span, choose, select }: {
  findings: FindingSpan[]; span: Span; choose?: (finding: FindingSpan) => void;
  select?: (from: number, to: number) => void;
}) {
  const lanes = useMemo(() => {
    const byWhat = new Map<string, FindingSpan[]>();
    for (const finding of findings) {
      const key = `${finding.cause} ${finding.module}`;
      byWhat.set(key, [...(byWhat.get(key) ?? []), finding]);
    }
    return [...byWhat.entries()].slice(0, 24);
  }, [findings]);
  const place = (ns: number) => 100 * Math.min(1, Math.max(0, (ns - span.from) / (span.to - span.from)));
  if (lanes.length === 0)
    return <p class="quiet">No findings in this span.</p>;
  return (
    <div class="lanes">
      {lanes.map(([key, list]) => (
        <div class="lane" key={key}>
          <span class="lane-name" title={key}>{key}</span>
          <span class="lane-track">
            {list.map((finding) => (
              <button type="button" key={finding.begin_ns} class={`bar ${finding.severity}`}
                style={{ left: `${place(finding.begin_ns)}%`,
                  width: `max(6px, ${place(finding.end_ns ?? span.to) - place(finding.begin_ns)}%)` }}
                title={`${finding.because}\n${timeOfDay(finding.begin_ns, 1)}, `
                  + `${duration((finding.end_ns ?? span.to) - finding.begin_ns)}`
                  + (select ? '. Double click: this span' : '')}
                aria-label={`${finding.cause} ${finding.module}, from ${timeOfDay(finding.begin_ns)}`}
                onClick={() => choose?.(finding)}
                onDblClick={() => select?.(finding.begin_ns, finding.end_ns ?? span.to)} />))}
          </span>
        </div>))}
    </div>
  );
}

// The whole time, small, with a window on it to move and to resize.
function Overview({ data, all, span, select }:
  { data: Measures | null; all: Span; span: Span; select: (from: number, to: number) => void }) {
  const [attach, width] = useWidth();
  const drag = useRef<{ kind: 'left' | 'right' | 'move' | 'new'; x: number; span: Span } | null>(null);
  const [moving, setMoving] = useState<Span | null>(null);
  const shown = moving ?? span;
  const length = all.to - all.from;
  const x = (ns: number) => width * (ns - all.from) / length;
  const area = useMemo(() => {
    const rows = (data?.series ?? []).filter((series) => ['rx', 'tx', 'loopback'].includes(series.name));
    if (!data || rows.length === 0 || width === 0)
      return '';
    // What is unknown is left out, not drawn as nothing.
    const sums = rows[0]!.values.map((_, i) => (rows.every((series) => series.values[i] === null) ? null
      : rows.reduce((sum, series) => sum + (series.values[i] ?? 0), 0)));
    const most = sums.reduce<number>((high, sum) => Math.max(high, sum ?? 0), 1);
    const points = sums.map((sum, i) => (sum === null ? '' : `${x(data.from_ns + i * data.step_ns).toFixed(1)},`
      + `${(40 - 36 * sum / most).toFixed(1)}`)).filter((point) => point !== '');
    return points.length ? `M${points[0]!.split(',')[0]},40L${points.join('L')}V40Z` : '';
  }, [data, width, all.from, all.to]);
  const begin = (kind: 'left' | 'right' | 'move' | 'new') => (event: PointerEvent) => {
    event.stopPropagation();
    (event.currentTarget as Element).closest('svg')!.setPointerCapture(event.pointerId);
    drag.current = { kind, x: event.clientX, span: { ...shown } };
  };
  const move = (event: PointerEvent) => {
    const now = drag.current;
    if (!now)
      return;
    const by = (event.clientX - now.x) * length / Math.max(1, width);
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = all.from + (event.clientX - box.left) * length / Math.max(1, width);
    const start = all.from + (now.x - box.left) * length / Math.max(1, width);
    const next = now.kind === 'left' ? { from: now.span.from + by, to: now.span.to }
      : now.kind === 'right' ? { from: now.span.from, to: now.span.to + by }
        : now.kind === 'move' ? { from: now.span.from + by, to: now.span.to + by }
          : { from: Math.min(start, at), to: Math.max(start, at) };
    setMoving({ from: Math.max(all.from, next.from), to: Math.min(all.to, next.to) });
  };
  const end = () => {
    drag.current = null;
    if (moving && moving.to - moving.from > length / 1000)
      select(moving.from, moving.to);
    setMoving(null);
  };
  const left = x(shown.from), right = x(shown.to);
  return (
    <div class="overview" ref={attach}>
      <svg width={width} height={40} onPointerDown={begin('new')} onPointerMove={move} onPointerUp={end}
        role="img" aria-label={`Whole time, ${dateTime(all.from)} to ${dateTime(all.to)}; `
          + 'arrow keys move the span, + and - change it'}>
        <path d={area} class="overview-area" />
        <rect x={0} y={0} width={Math.max(0, left)} height={40} class="overview-shade" />
        <rect x={right} y={0} width={Math.max(0, width - right)} height={40} class="overview-shade" />
        <rect x={left} y={0.5} width={Math.max(2, right - left)} height={39} class="overview-window"
          onPointerDown={right - left < width - 2 ? begin('move') : begin('new')} />
        <rect x={left - 4} y={0} width={8} height={40} class="overview-handle" onPointerDown={begin('left')} />
        <rect x={right - 4} y={0} width={8} height={40} class="overview-handle" onPointerDown={begin('right')} />
      </svg>
    </div>
  );
}

const LIVE_LENGTH_NS = 15 * 60e9;
const REFRESH_MS = 2000;

// The whole time that can be looked at; of the live host it grows.
function useAll(): Span {
  const { about } = useWorld();
  const recording = useRecording();
  const [now, setNow] = useState(about.now_ns);
  const shift = useRef(about.now_ns - Date.now() * 1e6);
  useEffect(() => {
    const timer = recording ? 0 : window.setInterval(() => setNow(Date.now() * 1e6 + shift.current), REFRESH_MS);
    return () => window.clearInterval(timer);
  }, [recording?.id]);
  if (recording)
    return { from: recording.from_ns, to: Math.max(recording.to_ns, recording.from_ns + 1e6) };
  return { from: Math.max(about.start_ns, now - LIVE_LENGTH_NS), to: Math.max(now, about.start_ns + 10e9) };
}

function parseSpan(text: string | undefined): Span | null {
  const found = /^(\d+)-(\d+)$/.exec(text ?? '');
  return found ? { from: Number(found[1]), to: Number(found[2]) } : null;
}

function CompareSpans({ a, b }: { a: Span; b: Span }) {
  const source = useSource();
  const before = useMeasures(source, a), after = useMeasures(source, b);
  const findingsA = useFindings(a.from, a.to), findingsB = useFindings(b.from, b.to);
  const error = before.error ?? after.error;
  if (error)
    return <Failed error={error} />;
  if (!before.data || !after.data)
    return <Loading what="both spans" />;
  return <Comparison names={['A', 'B']} rows={compareMeasures(before.data, after.data)}
    findings={[findingsA.data?.rows ?? [], findingsB.data?.rows ?? []]} />;
}

export function Time() {
  const { route, change } = useWorld();
  const source = useSource(), recording = useRecording(), chosen = useSpan();
  const all = useAll();
  const span = chosen ?? all;
  const every = !recording && !chosen ? REFRESH_MS : 0;
  const findings = useFindings(recording ? undefined : all.from, undefined, every);
  const again = findings.reading ? 1000 : 0;
  const whole = useMeasures(source, recording ? null : all, true, again);
  const part = useMeasures(source, chosen, chosen !== null, again);
  const zoomed = chosen ? part : whole;
  const [open, setOpen] = useState<FindingSpan | null>(null);
  const select = (from: number, to: number) => change({ from: Math.round(from), to: Math.round(to), at: null });
  const reset = () => change({ from: null, to: null, at: null });
  const zoom = (factor: number) => {
    const middle = (span.from + span.to) / 2, half = (span.to - span.from) * factor / 2;
    const from = Math.max(all.from, middle - half), to = Math.min(all.to, middle + half);
    if (from <= all.from && to >= all.to)
      reset();
    else
      select(from, to);
  };
  const pan = (by: number) => {
    const length = span.to - span.from;
    const from = Math.min(all.to - length, Math.max(all.from, span.from + by * length));
    if (chosen)
      select(from, from + length);
  };
  useKeys({ ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), '+': () => zoom(0.5), '=': () => zoom(0.5),
    '-': () => zoom(2), '0': reset }, [span.from, span.to, all.from, all.to]);
  const a = parseSpan(route.args.a), b = parseSpan(route.args.b);
  const mark = (name: string) => change({ [name]: `${Math.round(span.from)}-${Math.round(span.to)}` });
  const data = zoomed.data;
  const groups = data ? groupSeries(data.series) : [];
  return (
    <div class="time">
      <div class="toolbar">
        <span class="span-text">
          <strong>{timeOfDay(span.from, 1)} to {timeOfDay(span.to, 1)}</strong>{' '}
          <span class="quiet">{duration(span.to - span.from)}
            {chosen ? ' selected: all views show this span' : ''}</span>
        </span>
        <span class="grow" />
        <button type="button" onClick={() => zoom(0.5)}>Zoom in</button>
        <button type="button" onClick={() => zoom(2)} disabled={!chosen}>Zoom out</button>
        <button type="button" onClick={reset} disabled={!chosen}>Whole time</button>
        <button type="button" onClick={() => mark('a')} disabled={!chosen} aria-pressed={!!a}
          title={chosen ? 'Keep this span as A' : 'Select a span first'}>Compare: A</button>
        <button type="button" onClick={() => mark('b')} disabled={!chosen || !a} aria-pressed={!!b}
          title={!a ? 'Select a span and press "Compare: A" first' : 'Compare A with this span'}>with B</button>
        {(a || b) && <button type="button" onClick={() => change({ a: null, b: null })}>End comparison</button>}
      </div>
      <Overview data={whole.data} all={all} span={span} select={select} />
      {a && !b && <p class="banner info">A is {timeOfDay(a.from, 1)} to {timeOfDay(a.to, 1)}. Select another span and
        press "with B".</p>}
      {a && b && (
        <section class="card">
          <h2>A {timeOfDay(a.from, 1)} to {timeOfDay(a.to, 1)}, B {timeOfDay(b.from, 1)} to {timeOfDay(b.to, 1)}</h2>
          <CompareSpans a={a} b={b} />
        </section>)}
      {findings.reading && <p class="banner info" role="status">Reading the recording; more findings may follow.</p>}
      <section class="card">
        <h2>Findings</h2>
        {findings.error ? <Failed error={findings.error} retry={findings.reload} />
          : !findings.data ? <Loading what="findings" />
            : <Lanes span={span} choose={setOpen} select={select} findings={findings.data.rows.filter(
              (row) => row.begin_ns < span.to && (row.end_ns ?? span.to) >= span.from)} />}
      </section>
      {zoomed.error && !data && <Failed error={zoomed.error} retry={zoomed.reload} />}
      {!data && !zoomed.error && <Loading what="measures" />}
      {data && groups.length === 0 && <Empty title="No measures">This server offers none.</Empty>}
      {data && groups.map((group) => {
        const shown = { from_ns: data.from_ns, step_ns: data.step_ns, series: group.series };
        const last = group.series[0]!.values.filter((value) => value !== null).at(-1);
        return (
          <section class={`card plot-card${hasValues(shown) ? '' : ' none'}`} key={group.title}>
            <h2>{group.title}
              {last !== undefined && group.series.length === 1
                && <span class="quiet"> {withUnit(last, group.series[0]!.unit)}</span>}
              {group.title.startsWith('Drops') && <a href={linkTo('tables', 'drops', {}, route)}>by flow</a>}
            </h2>
            <Plot data={shown} height={group.series.length > 1 ? 170 : 120} sync="time" range={span} select={select}
              whole={reset} label={`${group.title}: ${group.series.map((one) => one.title).join(', ')}`} />
          </section>);
      })}
      <p class="quiet hint">Drag across a plot to select a span, double click for the whole time, arrow keys to move,
        + and - to zoom.</p>
      {open && <Drawer title={`${open.cause} ${open.module}`} close={() => setOpen(null)}>
        <p>{dateTime(open.begin_ns)}, {open.end_ns ? duration(open.end_ns - open.begin_ns) : 'still active'}</p>
        <p class="links">
          <button type="button" onClick={() => { select(open.begin_ns, open.end_ns ?? span.to); setOpen(null); }}>
            Select this span</button>
          {recording && <a class="button" href={linkTo('now', '',
            { at: String(Math.round(Math.min(open.end_ns ?? span.to, open.begin_ns + 1e9))) }, route)}>
            Diagnosis at that time</a>}
        </p>
        <FindingCard finding={open} />
      </Drawer>}
    </div>
  );
}
