// SPDX-License-Identifier: GPL-2.0-or-later
// Flow: what a server does for each session, from a function trace: sessions, classes, diagrams, flame graphs, and
// which function makes some of them different.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, get, type Field, type Params, type Row, type TraceInfo } from './api';
import { useWorld } from './context';
import { FilterBar } from './filter';
import { andWhere, bytes, count, dateTime, duration, fieldValue, percent, shell, whole } from './format';
import { Flame, type FlameDocument } from './flame';
import { Grid, sortRows } from './grid';
import { useLoad } from './hooks';
import { Command, Drawer, Empty, Failed, Loading } from './parts';
import { linkTo } from './route';
import type { SequenceDocument } from './calls';
import { Sequence } from './sequence';
import { fieldsOfRows } from './tools';

interface Info {
  trace: string; command: string | null; host: string | null; time_ns: number | null; span_ns: number | null;
  events: number; calls: number; threads: number; functions: number; bytes: number; lost: number; complete: boolean;
}
interface FlowClass {
  class: number; sessions: number; share: number; span_ns: number; calls: number; distinct: number; example: number;
  function: string | null;
}
interface Divergence {
  function: string; module: string | null; file: string | null; line: number | null; path: string[]; kind: string;
  ratio: number | null; good: number | null; bad: number | null; good_ns: number | null; bad_ns: number | null;
  good_sessions: number; bad_sessions: number; confidence: number | null; waits_in: string | null;
  instead: string | null; before: string | null;
}
interface Compared {
  answer: string | null; how: string | null; divergence: Divergence | [] | null; others: Divergence[];
  groups: { name: string; sessions: number; median_ns: number | null; members: number[] }[];
}

const PARTS: { name: string; title: string }[] = [
  { name: 'sessions', title: 'Sessions' }, { name: 'diagram', title: 'Sequence diagram' },
  { name: 'flame', title: 'Flame graph' }, { name: 'compare', title: 'Compare' },
];
const SPLITS = ['connection', 'request', 'thread'];

// What is the same in all parts: the trace, and what a session is.
function useTrace(): { trace: TraceInfo | null; params: Params } {
  const { about, route } = useWorld();
  const trace = about.traces.find((one) => String(one.id) === route.args.trace) ?? about.traces[0] ?? null;
  return { trace, params: { trace: trace?.id, by: route.args.split } };
}

// Links between the parts keep trace and split; the rest belongs to a part.
function useLink() {
  const { route } = useWorld();
  return (part: string, args: Record<string, string>) => {
    const kept: Record<string, string> = {};
    for (const name of ['trace', 'split'])
      if (route.args[name])
        kept[name] = route.args[name]!;
    return linkTo('flow', part, { ...kept, ...args }, route);
  };
}

function Problem({ error, retry }: { error: Error; retry: () => void }) {
  const refused = error instanceof ApiError && (error.status === 400 || error.status === 404);
  return refused ? <Empty title="Nothing to show">{error.message}</Empty> : <Failed error={error} retry={retry} />;
}

// --- sessions

const COLUMNS = ['session', 'request', 'raddr', 'rport', 'lport', 'tid', 'comm', 'start_ns', 'span_ns', 'busy_ns',
  'wait_ns', 'calls', 'requests', 'tx_bytes', 'rx_bytes', 'errors', 'class'];

// A trace that was imported without the time of day counts from its beginning.
function startKind(rows: Row[]): string {
  return rows.some((row) => Number(row.start_ns) > 1e17) ? 'time' : 'duration';
}

function sessionFields(rows: Row[]): Field[] {
  const known = new Map(fieldsOfRows(rows).map((field) => [field.name, field]));
  const fields = COLUMNS.map((name) => known.get(name)).filter((field) => field !== undefined);
  return fields.map((field) => (['session', 'class', 'request'].includes(field.name) ? { ...field, kind: 'id' }
    : field.name === 'start_ns' ? { ...field, kind: startKind(rows) } : field));
}

function Classes({ rows, where }: { rows: FlowClass[]; where: string }) {
  const { change } = useWorld();
  const link = useLink();
  return (
    <section class="card">
      <h2>Classes <span class="quiet">sessions of one class make the same calls in the same places</span></h2>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Classes of sessions">
        <table class="plain">
          <thead><tr><th scope="col">Class</th><th scope="col">Sessions</th><th scope="col">Share</th>
            <th scope="col">Median span</th><th scope="col">Calls</th><th scope="col" class="left">Begins with</th>
            <th scope="col" class="left">Example</th></tr></thead>
          <tbody>
            {rows.slice(0, 12).map((row) => (
              <tr key={row.class} class={where === `class == ${row.class}` ? 'widest' : ''}>
                <th scope="row"><button type="button" class="value" title="Show its sessions"
                  onClick={() => change({ where: where === `class == ${row.class}` ? null : `class == ${row.class}` })}>
                  {row.class}</button></th>
                <td>{whole(row.sessions)}</td><td>{percent(row.share)}</td><td>{duration(row.span_ns)}</td>
                <td>{count(row.calls)}</td><td class="left"><code>{row.function ?? '-'}</code></td>
                <td class="left"><a href={link('diagram', { session: String(row.example) })}>
                  session {row.example}</a></td>
              </tr>))}
          </tbody>
        </table>
      </div>
      {rows.length > 12 && <p class="quiet">{whole(rows.length - 12)} more classes.</p>}
    </section>
  );
}

function SessionDrawer({ row, close }: { row: Row; close: () => void }) {
  const { route, change } = useWorld();
  const link = useLink(), number = String(row.session);
  const fields = fieldsOfRows([row]);
  return (
    <Drawer title={`session ${number}`} close={close}>
      <p class="links">
        <a class="button" href={link('diagram', { session: number })}>Sequence diagram</a>
        <a class="button" href={link('flame', { session: number })}>Flame graph</a>
        <a class="button" href={link('compare', { bad: `session == ${number}` })}>Compare with the others</a>
        <button type="button" onClick={() => change({
          where: andWhere(route.args.where ?? '', `class == ${row.class}`), row: null })}>Sessions of its class</button>
      </p>
      <table class="plain facts-table"><tbody>
        {fields.map((field) => <tr key={field.name}><th scope="row">{field.name}</th>
          <td>{fieldValue(row[field.name], field.name === 'start_ns' ? { ...field, kind: startKind([row]) }
            : field)}</td></tr>)}
      </tbody></table>
    </Drawer>
  );
}

function Sessions({ params }: { params: Params }) {
  const { route, change } = useWorld();
  const where = route.args.where ?? '', sort = route.args.sort ?? '';
  const sessions = useLoad((signal) => get<{ rows: Row[] }>('flow/sessions', { ...params, where }, signal),
    [params, where]);
  const all = useLoad((signal) => get<{ rows: FlowClass[] }>('flow/classes', params, signal), [params]);
  const wrong = sessions.error instanceof ApiError && sessions.error.status === 400 ? sessions.error : null;
  const rows = useMemo(() => sortRows(wrong ? [] : sessions.data?.rows ?? [], sort), [sessions.data, sort, wrong]);
  const fields = useMemo(() => sessionFields(rows), [rows]);
  // The fields of any row, also when none matches.
  const [offered, setOffered] = useState<Field[]>([]);
  useEffect(() => {
    if (rows.length)
      setOffered(fieldsOfRows(rows));
  }, [rows]);
  const open = rows.find((row) => String(row.session) === route.args.row) ?? null;
  const none = all.data?.rows.length === 0;
  // Both at once: the table does not move down when the classes come.
  const waiting = (!sessions.data && !sessions.error) || (!all.data && !all.error);
  return (
    <>
      <FilterBar table="sessions" example="span > 1s and class == 2" fields={offered} value={where}
        set={(text) => change({ where: text, row: null })} error={wrong ? { error: wrong.message } : null} />
      {!waiting && all.data && all.data.rows.length > 0 && <Classes rows={all.data.rows} where={where} />}
      {sessions.error && !wrong && <Problem error={sessions.error} retry={sessions.reload} />}
      {waiting && <Loading what="sessions" />}
      {sessions.data && !wrong && rows.length === 0 && (none
        ? <Empty title="No sessions">The trace has no connections: choose another split, for example by thread.</Empty>
        : <Empty title="No session matches the filter">
          <button type="button" onClick={() => change({ where: null })}>Clear the filter</button></Empty>)}
      {!waiting && rows.length > 0 && <>
        <p class="quiet" role="status">{whole(rows.length)} sessions{sessions.loading ? ' …' : ''}</p>
        <Grid label="sessions" rows={rows} fields={fields} sort={sort} keyOf={(row) => String(row.session)}
          setSort={(next) => change({ sort: next }, true)} opened={route.args.row ?? null}
          open={(row) => change({ row: String(row.session) }, true)} /></>}
      {open && <SessionDrawer row={open} close={() => change({ row: null }, true)} />}
    </>
  );
}

// --- pictures

// Which sessions a picture is about.
function PictureChoice({ flame }: { flame: boolean }) {
  const { route, change } = useWorld();
  const { session = '', divergence, good, bad } = route.args;
  const compares = !!(divergence || good || bad);
  return (
    <div class="toolbar">
      <label>session <input type="text" size={14} value={session} placeholder={flame ? 'all' : 'a typical one'}
        onChange={(event) => change({ session: event.currentTarget.value.trim(), divergence: null, good: null,
          bad: null })} /></label>
      <button type="button" aria-pressed={!!divergence}
        onClick={() => change({ divergence: divergence ? null : 1, session: null, good: null, bad: null })}>
        {flame ? 'Outliers against the rest' : 'An outlier, and where it differs'}</button>
      {compares && !divergence && <span class="tag">
        {bad ? `bad: ${bad}` : ''}{good ? ` good: ${good}` : ''}</span>}
      {!flame && <label>a lifeline is a <select value={route.args.lines ?? 'functions'}
        onChange={(event) => change({ lines: event.currentTarget.value === 'functions' ? null
          : event.currentTarget.value })}>
        <option value="functions">function</option><option value="modules">module</option>
        <option value="threads">thread</option></select></label>}
    </div>
  );
}

function pictureParams(params: Params, args: Record<string, string>): Params {
  const { session, divergence, good, bad } = args;
  return { ...params, session, divergence, good, bad };
}

function Diagram({ params }: { params: Params }) {
  const { route } = useWorld();
  const asked = { ...pictureParams(params, route.args), lines: route.args.lines };
  const loaded = useLoad((signal) => get<SequenceDocument>('flow/diagram', asked, signal), [asked]);
  return (
    <>
      <PictureChoice flame={false} />
      {loaded.error ? <Problem error={loaded.error} retry={loaded.reload} />
        : !loaded.data || loaded.loading ? <Loading what="the diagram" />
          : <>
            <h2>{loaded.data.title}</h2>
            {loaded.data.note && <p class="culprit-words">{loaded.data.note}</p>}
            <Sequence document={loaded.data} />
          </>}
    </>
  );
}

function FlameView({ params }: { params: Params }) {
  const { route } = useWorld();
  const asked = pictureParams(params, route.args);
  const loaded = useLoad((signal) => get<FlameDocument>('flow/flame', asked, signal), [asked]);
  return (
    <>
      <PictureChoice flame />
      {loaded.error ? <Problem error={loaded.error} retry={loaded.reload} />
        : !loaded.data || loaded.loading ? <Loading what="the flame graph" />
          : <>
            <h2>{loaded.data.title}</h2>
            {loaded.data.note && <p class="culprit-words">{loaded.data.note}</p>}
            <Flame document={loaded.data} />
          </>}
    </>
  );
}

// --- comparison

function sayDivergence(one: Divergence): string {
  return one.kind === 'slower' ? `${duration(one.bad ?? 0)} per session, good ones ${duration(one.good ?? 0)}`
    : `in ${whole(one.bad_sessions)} bad and ${whole(one.good_sessions)} good sessions`;
}

function MainDivergence({ one }: { one: Divergence }) {
  return (
    <dl class="facts">
      <dt>function</dt><dd><code>{one.function}</code>{one.module && one.module !== '?' ? ` in ${one.module}` : ''}
        {one.file ? `, ${one.file}${one.line ? `:${one.line}` : ''}` : ''}</dd>
      <dt>difference</dt><dd>{one.kind}: {sayDivergence(one)}</dd>
      {one.before && <><dt>left before</dt><dd><code>{one.before}</code></dd></>}
      {one.waits_in && <><dt>time is spent in</dt><dd><code>{one.waits_in}</code></dd></>}
      {one.instead && <><dt>good sessions call</dt><dd><code>{one.instead}</code></dd></>}
      {one.confidence !== null && <><dt>confidence</dt><dd>{one.confidence.toFixed(2)}</dd></>}
      <dt>call path</dt><dd>{one.path.map((name, i) => <>{i ? ' › ' : ''}<code key={i}>{name}</code></>)}</dd>
    </dl>
  );
}

function CompareResult({ data, args }: { data: Compared; args: Record<string, string> }) {
  const link = useLink();
  const main = Array.isArray(data.divergence) ? null : data.divergence;
  const bad = data.groups.find((group) => group.name === 'bad') ?? data.groups[1];
  return (
    <>
      <section class={`verdict ${main ? 'high' : 'healthy'}`}>
        <h2>{data.answer}</h2>
        <p class="quiet">{data.groups.map((group) => `${whole(group.sessions)} ${group.name}`
          + `${group.median_ns !== null ? ` (median ${duration(group.median_ns)})` : ''}`).join(', ')} sessions
          {data.how ? `. Bad: ${data.how}` : ''}</p>
      </section>
      {main && <section class="card"><h2>Where they differ</h2>
        <MainDivergence one={main} />
        {!args.with && <p class="links">
          {bad?.members?.[0] !== undefined && <a class="button"
            href={link('diagram', args.good || args.bad ? { ...args } : { divergence: '1' })}>
            A bad session, the difference boxed</a>}
          <a class="button" href={link('flame', args.good || args.bad ? { ...args } : { divergence: '1' })}>
            Differential flame graph</a>
          {bad?.members?.slice(0, 5).map((number) => <a key={number}
            href={link('diagram', { session: String(number) })}>session {number}</a>)}</p>}
      </section>}
      {data.others?.length > 0 && <section class="card"><h2>Also different</h2>
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Other differences">
          <table class="plain"><thead><tr><th scope="col">Function</th><th scope="col" class="left">Kind</th>
            <th scope="col" class="left">Difference</th><th scope="col">Confidence</th></tr></thead>
          <tbody>{data.others.map((one, i) => <tr key={i}><th scope="row"><code>{one.function}</code></th>
            <td class="left">{one.kind}</td><td class="left">{sayDivergence(one)}</td>
            <td>{one.confidence === null ? '-' : one.confidence.toFixed(2)}</td></tr>)}</tbody></table>
        </div></section>}
    </>
  );
}

function CompareView({ params }: { params: Params }) {
  const { about, route, change } = useWorld();
  const { good = '', bad = '', with: other = '' } = route.args;
  const asked = { ...params, good, bad, with: other };
  const loaded = useLoad((signal) => get<Compared>('flow/compare', asked, signal), [asked]);
  const args: Record<string, string> = {};
  for (const [name, value] of Object.entries({ good, bad, with: other }))
    if (value)
      args[name] = value;
  return (
    <>
      <div class="toolbar">
        <label>good <input type="text" size={18} value={good} placeholder="the others" disabled={!!other}
          onChange={(event) => change({ good: event.currentTarget.value.trim() })} /></label>
        <label>bad <input type="text" size={18} value={bad} placeholder="outliers, or: span > 1s" disabled={!!other}
          onChange={(event) => change({ bad: event.currentTarget.value.trim() })} /></label>
        {about.traces.length > 1 && <label>with trace <select value={other}
          onChange={(event) => change({ with: event.currentTarget.value, good: null, bad: null })}>
          <option value="">(within this one)</option>
          {about.traces.filter((one) => one.id !== params.trace).map((one) =>
            <option key={one.id} value={String(one.id)}>{one.name}</option>)}
        </select></label>}
        {(good || bad || other) && <button type="button" onClick={() => change({ good: null, bad: null, with: null })}>
          Find outliers</button>}
      </div>
      {loaded.error ? <Problem error={loaded.error} retry={loaded.reload} />
        : !loaded.data || loaded.loading ? <Loading what="the comparison" />
          : <CompareResult data={loaded.data} args={args} />}
    </>
  );
}

// --- the view

const COMMANDS: Record<string, string> = {
  sessions: 'sessions', diagram: 'diagram', flame: 'diagram --flame -F html -o flame.html', compare: 'compare',
};

function commandOf(part: string, trace: TraceInfo, args: Record<string, string>, others: TraceInfo[]): string {
  const [command, ...rest] = COMMANDS[part]!.split(' ');
  const words = ['nest flow', command!, shell(trace.name), ...rest];
  if (args.split)
    words.push('--by', args.split);
  const other = others.find((one) => String(one.id) === args.with);
  if (part === 'compare' && other)
    words.push(shell(other.name));
  if (part === 'sessions' && args.where)
    words.push('--where', shell(args.where));
  if (part !== 'sessions')
    for (const name of ['good', 'bad'])
      if (args[name])
        words.push(`--${name}`, shell(args[name]!));
  if (part === 'diagram' || part === 'flame') {
    if (args.session)
      words.push('--session', shell(args.session));
    if (args.divergence)
      words.push('--divergence');
  }
  return words.join(' ');
}

function About({ info }: { info: Info }) {
  return (
    <span class="quiet">
      {info.command ? `${info.command}: ` : ''}{count(info.calls)} calls, {whole(info.functions)} functions,{' '}
      {whole(info.threads)} {info.threads === 1 ? 'thread' : 'threads'}, {bytes(info.bytes)}
      {info.span_ns ? `, ${duration(info.span_ns)}` : ''}
      {info.time_ns && info.time_ns > 1e17 ? ` from ${dateTime(info.time_ns)}` : ''}
      {info.host ? ` on ${info.host}` : ''}
      {info.lost > 0 && <strong class="lost">, {whole(info.lost)} events lost</strong>}
      {!info.complete && <strong class="lost">, not complete</strong>}
    </span>
  );
}

export function Flow() {
  const { about, route, change } = useWorld();
  const { trace, params } = useTrace();
  const link = useLink();
  const info = useLoad(async (signal) => (trace ? get<Info>('flow/info', { trace: trace.id }, signal) : null),
    [trace?.id]);
  if (!trace)
    return <Empty title="No function trace">Record what a server does for its sessions, then open the trace beside or
      instead of recordings:
      <Command line="nest flow record -o server.trace -- COMMAND" />
      <Command line="nest serve -f server.trace" /></Empty>;
  const part = PARTS.find((one) => one.name === route.part) ?? PARTS[0]!;
  return (
    <div class="flow">
      <div class="toolbar">
        {about.traces.length > 1
          ? <label>trace <select value={String(trace.id)}
            onChange={(event) => change({ trace: event.currentTarget.value, session: null, row: null, where: null })}>
            {about.traces.map((one) => <option key={one.id} value={String(one.id)}>{one.name}</option>)}
          </select></label>
          : <strong>{trace.name}</strong>}
        <label>a session is a <select value={route.args.split ?? SPLITS[0]}
          onChange={(event) => change({ split: event.currentTarget.value === SPLITS[0] ? null
            : event.currentTarget.value, session: null, row: null })}>
          {SPLITS.map((name) => <option key={name} value={name}>{name}</option>)}</select></label>
        {info.data && <About info={info.data} />}
      </div>
      <nav class="tabs" aria-label="Parts of the trace">
        {PARTS.map((one) => <a key={one.name} href={link(one.name, {})}
          aria-current={one === part ? 'page' : undefined}>{one.title}</a>)}
      </nav>
      {part.name === 'sessions' && <Sessions params={params} />}
      {part.name === 'diagram' && <Diagram params={params} />}
      {part.name === 'flame' && <FlameView params={params} />}
      {part.name === 'compare' && <CompareView params={params} />}
      <Command line={commandOf(part.name, trace, route.args, about.traces)} />
    </div>
  );
}
