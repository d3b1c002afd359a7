// SPDX-License-Identifier: GPL-2.0-or-later
// Tools: any tool or event of nest, started in the server, with its rows, their distribution, and it over time.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, type Field, type Row, type Runnable } from './api';
import { usePlace, useRecording, useWorld } from './context';
import { FilterBar } from './filter';
import { heading, shell, whole } from './format';
import { Grid } from './grid';
import { addUp, bucketOf, HeatMap, Histogram, INTERVAL_NS, type Bucket, type Sample } from './heat';
import { useLoad } from './hooks';
import { Command, Drawer, Empty, Failed, Loading, Term } from './parts';
import { linkTo } from './route';
import { SaveRecording, useRun, type RunSettings } from './run';

const KEPT_ROWS = 20000, DRAW_MS = 250, KEPT_INTERVALS = 300;

// Rows of tools carry names of the field vocabulary: the name says what the value means.
export function guessField(name: string): Field {
  if (name === 'time_ns' || name.endsWith('_time_ns'))
    return { name, kind: 'time' };
  if (name.endsWith('_ns'))
    return { name, kind: 'duration' };
  if (name === 'bytes' || name.endsWith('_bytes') || name === 'rcvbuf' || name === 'sndbuf' || name.endsWith('_wnd'))
    return { name, kind: 'bytes' };
  if (/^(pid|tid|uid|cpu|lport|rport|netns|ifindex|seq|cookie)$|_id$/.test(name))
    return { name, kind: 'id' };
  if (/addr$/.test(name))
    return { name, kind: 'addr' };
  return { name, kind: 'text' };
}

// Who and where first, then what the event itself says, then what every event carries.
const FIRST = ['time_ns', 'pid', 'comm', 'laddr', 'lport', 'raddr', 'rport', 'dev'];
const LAST = ['cpu', 'tid', 'uid', 'family', 'proto', 'netns', 'cgroup_id', 'cgroup', 'container', 'cookie',
  'elapsed_ns', 'event'];

function rank(name: string): number {
  const first = FIRST.indexOf(name), last = LAST.indexOf(name);
  return first >= 0 ? first : last >= 0 ? 100 + last : 50;
}

export function fieldsOfRows(rows: Row[]): Field[] {
  const names = new Map<string, Field>();
  for (const row of rows.slice(-200))
    for (const [name, value] of Object.entries(row)) {
      if (Array.isArray(value) || names.has(name) || value === null)
        continue;
      const guess = guessField(name);
      names.set(name, guess.kind === 'text' && typeof value === 'number' ? { name, kind: 'count' } : guess);
    }
  return [...names.values()].sort((a, b) => rank(a.name) - rank(b.name));
}

// Rows of figures: sum and its like are in the unit of the field that is added up.
export function figureFields(fields: Field[], value: Field | null): Field[] {
  return fields.map((field) => {
    if (value && /^(sum|min|max|avg)$/.test(field.name))
      return { ...value, name: field.name };
    if (value?.kind === 'bytes' && field.name === 'sum_rate')
      return { name: field.name, kind: 'ratio', unit: 'B/s' };
    if (/_rate$/.test(field.name))
      return { name: field.name, kind: 'ratio', unit: '/s' };
    return field.name === 'share' ? { name: field.name, kind: 'ratio', unit: '%' } : field;
  });
}

function nameOf(item: Runnable): string {
  return item.tool ?? item.event ?? '';
}

// Of a recording: whether it has an event of the tool, as a table.
export function isRecorded(item: Runnable, tables: string[]): boolean {
  return (item.event ?? '').split(',').some((event) => tables.includes(event.replace(/\./g, '_')));
}

// What is measured of each row: latency before other durations before sizes.
function measured(fields: Field[]): Field[] {
  const order = (field: Field) => (field.name === 'lat_ns' ? 0 : field.name === 'span_ns' ? 1
    : rank(field.name) > 99 ? 9 : field.kind === 'duration' ? 2 : 3);
  return fields.filter((field) => field.kind === 'duration' || field.kind === 'bytes')
    .sort((a, b) => order(a) - order(b));
}

// Rows in intervals of a second, each with its distribution.
export function toSamples(rows: Row[], field: string): Sample[] {
  const samples: Sample[] = [];
  let current: { turn: number; sums: Map<number, Bucket> } | null = null;
  const close = () => current
    && samples.push({ time: current.turn * INTERVAL_NS, buckets: [...current.sums.values()] });
  for (const row of rows) {
    const turn = Math.floor(Number(row.time_ns ?? row.received_ns ?? 0) / INTERVAL_NS);
    if (!current || current.turn !== turn) {
      close();
      current = { turn, sums: new Map() };
    }
    const add = (bucket: Bucket) => {
      const sum = current!.sums.get(bucket.lo);
      if (sum)
        sum.count += bucket.count;
      else
        current!.sums.set(bucket.lo, { ...bucket });
    };
    if (Array.isArray(row.hist))
      (row.hist as Bucket[]).forEach(add);
    else if (typeof row[field] === 'number')
      add(bucketOf(row[field] as number));
  }
  close();
  return samples.slice(-KEPT_INTERVALS);
}

// Rows as they come, drawn a few times a second.
function useRows(what: string, settings: RunSettings) {
  const [rows, setRows] = useState<Row[]>([]);
  const [seen, setSeen] = useState(0);
  const pending = useRef<Row[]>([]);
  const { run, start, stop } = useRun(what, settings,
    (record) => { pending.current.push({ received_ns: Date.now() * 1e6, ...record }); },
    () => {
      pending.current = [];
      setRows([]);
      setSeen(0);
    });
  useEffect(() => {
    const timer = window.setInterval(() => {
      const fresh = pending.current.splice(0);
      if (fresh.length === 0)
        return;
      setSeen((n) => n + fresh.length);
      setRows((old) => old.concat(fresh).slice(-KEPT_ROWS));
    }, DRAW_MS);
    return () => window.clearInterval(timer);
  }, []);
  return { run, rows, seen, start, stop };
}

function save(name: string, rows: Row[]): void {
  const link = document.createElement('a');
  const text = rows.map(({ received_ns: _, ...row }) => `${JSON.stringify(row)}\n`).join('');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/jsonl' }));
  link.download = `${name}.jsonl`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function Runner({ item, here, fields: offered }: { item: Runnable; here: boolean; fields: Field[] }) {
  const { route, change } = useWorld();
  const recording = useRecording(), place = usePlace();
  const what = nameOf(item);
  const where = route.args.where ?? '', by = route.args.by ?? '', hist = route.args.hist ?? '';
  const { run, rows, seen, start, stop } = useRows(what, { where, by, hist });
  const [open, setOpen] = useState<Row | null>(null);
  const [field, setField] = useState('');
  const running = run?.state === 'running' || run?.state === 'starting';
  // What a histogram is of: the field that was asked for, or that of the tool.
  const added = hist || item.value ? guessField(hist || item.value!) : null;
  const fields = useMemo(() => figureFields(fieldsOfRows(rows).filter((one) => one.name !== 'received_ns'), added),
    [rows, added?.name]);
  const own = rows.some((row) => Array.isArray(row.hist));
  const choices = measured(fields);
  const chosen: Field | null = own ? added ?? guessField('count') : choices.find((one) => one.name === field)
    ?? choices[0] ?? null;
  const samples = useMemo(() => (chosen ? toSamples(rows, chosen.name) : []), [rows, chosen?.name]);
  const line = ['nest', ...(item.tool ? [what] : ['trace', what]), ...place,
    ...(where ? ['--where', shell(where)] : []), ...(by ? ['--by', by] : []), ...(hist ? ['--hist', hist] : []),
  ].join(' ');
  return (
    <div class="runner">
      <h2><Term word={what} /> <span class="quiet">{item.summary ?? item.help}</span></h2>
      {!here && <p class="banner info">{recording
        ? `Not in this recording: it has no ${item.event?.replace(/,/g, ', ')}`
        : `Not available here: ${item.reason}`}</p>}
      <FilterBar table={what} fields={offered} value={where} error={null}
        set={(text) => change({ where: text }, true)} />
      <div class="toolbar">
        <label>group by <input type="text" value={by} size={12} placeholder="comm,raddr"
          onChange={(event) => change({ by: event.currentTarget.value.trim() }, true)} /></label>
        <label>histogram of <input type="text" value={hist} size={10} placeholder="lat_ns"
          onChange={(event) => change({ hist: event.currentTarget.value.trim() }, true)} /></label>
        {running ? <button type="button" class="primary" onClick={stop}>Stop</button>
          : <button type="button" class="primary" onClick={start}
            disabled={!here}>Start</button>}
        <span role="status">
          {run?.state === 'starting' && 'starting'}
          {run?.state === 'running' && `${whole(seen)} rows`}
          {run?.state === 'ended' && `${whole(seen)} rows${rows.length > 0 ? `, ${run.text}` : ''}`}
          {run && run.lost > 0 && <strong class="lost">, {whole(run.lost)} lost</strong>}
        </span>
        <span class="grow" />
        <SaveRecording run={run} what={what} />
        <button type="button" disabled={rows.length === 0} onClick={() => save(what, rows)}>Save JSON</button>
      </div>
      {run?.state === 'failed' && <Failed error={new Error(run.text)} retry={start} />}
      {!run && here && <Empty title="Not started">{recording ? `Start reads ${what} from the recording.`
        : `Start attaches ${what} on the host of nest serve; it ends when you leave this page.`}</Empty>}
      {run && run.state !== 'failed' && rows.length === 0
        && <Empty title={running ? 'No rows yet' : 'No rows'}>{running
          ? 'Nothing has matched since the start. Rows appear as the events happen.'
          : run.text === 'stopped' || run.text === 'ended' ? 'Nothing matched while it ran.' : run.text}</Empty>}
      {chosen && rows.length > 0 && (
        <section class="card">
          <h2>{heading(chosen.name)}
            {!own && choices.length > 1 && (
              <select aria-label="Field to show" value={chosen.name}
                onChange={(event) => setField(event.currentTarget.value)}>
                {choices.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
              </select>)}
          </h2>
          <div class="two">
            <Histogram buckets={addUp(samples)} field={chosen} />
            <HeatMap samples={samples} field={chosen} />
          </div>
        </section>)}
      {rows.length > 0 && <Grid label={`rows of ${what}`} rows={rows} fields={fields} sort="" open={setOpen}
        tail={running} keyOf={(row) => JSON.stringify(row)} />}
      <Command line={line} />
      {open && <Drawer title={what} close={() => setOpen(null)}>
        <pre class="prose">
          {JSON.stringify(open, (name, value) => (name === 'received_ns' ? undefined : value), 2)}</pre>
      </Drawer>}
    </div>
  );
}

// What can be filtered: the fields of the event itself, or of the one that a tool stands on.
function fieldsOf(item: Runnable, events: Runnable[]): Field[] {
  const event = item.tool ? events.find((other) => other.event === item.event) : item;
  return Array.isArray(event?.fields) ? (event.fields as (Field | string)[])
    .map((field) => (typeof field === 'string' ? { name: field, kind: 'text', help: '' } : field)) : [];
}

export function Tools() {
  const { route } = useWorld();
  const recording = useRecording();
  const [search, setSearch] = useState('');
  const scrolled = useRef('');
  const tools = useLoad((signal) => get<{ rows: Runnable[] }>('tools', {}, signal), []);
  const events = useLoad((signal) => get<{ rows: Runnable[] }>('events', {}, signal), []);
  const error = tools.error ?? events.error;
  if (error && !tools.data)
    return <Failed error={error} retry={() => { tools.reload(); events.reload(); }} />;
  if (!tools.data || !events.data)
    return <Loading what="tools and events" />;
  const isHere = (one: Runnable) => (recording ? isRecorded(one, recording.tables) : one.available);
  const all = [...tools.data.rows, ...events.data.rows];
  const shown = all.filter((item) =>
    `${nameOf(item)} ${item.summary ?? item.help ?? ''} ${item.layer ?? ''}`.toLowerCase()
      .includes(search.toLowerCase()));
  const item = all.find((other) => nameOf(other) === route.part);
  // A link may lead to one that is far down in the list.
  const inView = (element: HTMLAnchorElement | null) => element?.scrollIntoView({ block: 'nearest' });
  const groups = [
    { title: 'Tools', items: shown.filter((one) => one.tool && isHere(one)), missing: false },
    { title: 'Events', items: shown.filter((one) => !one.tool && isHere(one)), missing: false },
    { title: recording ? 'Not in this recording' : 'Not available here', items: shown.filter((one) => !isHere(one)),
      missing: true },
  ];
  return (
    <div class={`tools${item ? ' chosen' : ''}`}>
      <nav class="tool-list" aria-label="Tools and events">
        <input type="search" value={search} placeholder="Search tools and events" aria-label="Search tools and events"
          onInput={(event) => setSearch(event.currentTarget.value)} />
        <div class="tool-groups">
          {groups.map((group) => group.items.length > 0 && <>
            <h2>{group.title} <span class="quiet">{group.items.length}</span></h2>
            <ul>
              {group.items.map((other) => (
                <li key={nameOf(other)}>
                  <a href={linkTo('tools', nameOf(other), {}, route)} aria-current={other === item ? 'page' : undefined}
                    ref={other === item && scrolled.current !== route.part ? (element) => {
                      scrolled.current = route.part;
                      inView(element);
                    } : undefined}
                    class={group.missing ? 'missing' : ''} title={recording ? '' : other.reason ?? ''}>
                    <strong>{nameOf(other)}</strong>
                    <span>{other.summary ?? other.help}</span>
                  </a>
                </li>))}
            </ul></>)}
        </div>
        {shown.length === 0 && <p class="quiet">No tool or event matches.</p>}
      </nav>
      {item ? <Runner key={nameOf(item)} item={item} here={isHere(item)} fields={fieldsOf(item, events.data.rows)} />
        : <Empty title={route.part ? `No tool or event ${route.part}` : 'Choose a tool or an event'}>
          {recording ? all.some(isHere) ? `${whole(all.filter(isHere).length)} of them have rows in this recording.`
            : 'None of them has rows in this recording.'
            : `${whole(tools.data.rows.length)} tools, ${whole(events.data.rows.length)} events. Rows, their `
              + 'distribution, and the distribution over time are shown as they happen.'}</Empty>}
    </div>
  );
}
