// SPDX-License-Identifier: GPL-2.0-or-later
// Tables: connections, programs, links and every other table of the snapshot, filtered, sorted, opened row by row.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, get, normalField, type Field, type Row, type Rows, type TableInfo } from './api';
import { useMoment, usePlace, useRecording, useSource, useWorld } from './context';
import { FilterBar } from './filter';
import { andWhere, fieldValue, heading, literal, shell, whole } from './format';
import { Grid, sortRows } from './grid';
import { useKeys, useLoad } from './hooks';
import { MomentBar } from './moment';
import { Command, Copy, Drawer, Empty, Failed, Loading } from './parts';
import { Plot } from './plot';
import { linkTo, type Route } from './route';

const REFRESH_MS = 2000;
// The first answer is short, so that something is there at once; then all of them, up to this.
const FIRST_ROWS = 300, MOST_ROWS = 100000;

// What people look for, as a table and a filter.
const TABS: { title: string; table: string; where: string; sort?: string; show?: string }[] = [
  { title: 'Connections', table: 'sockets', where: 'state != LISTEN', sort: '-delivery_rate' },
  { title: 'Listeners', table: 'sockets', where: 'state == LISTEN', sort: '-backlog',
    show: 'proto,laddr,lport,backlog,backlog_max,drops,pid,comm,uid' },
  { title: 'Programs', table: 'process', where: '' },
  { title: 'Services', table: 'cgroup', where: '' },
  { title: 'Links', table: 'links', where: '' },
  { title: 'Queues', table: 'qdisc', where: '' },
  { title: 'Drops', table: 'drop', where: '' },
  { title: 'DNS', table: 'resolver', where: '' },
  { title: 'Counters', table: 'counters', where: '' },
  { title: 'Limits', table: 'limits', where: '' },
];

// A name that a command has, and the table that it shows.
const ALIASES: Record<string, string[]> = {
  sockets: ['socket'], links: ['link'], connections: ['sockets', 'socket'], interfaces: ['links', 'link'],
  counters: ['counter'], routes: ['route'], limits: ['host_limit'], drops: ['drop'],
  programs: ['process'], queues: ['qdisc'], listeners: ['sockets', 'socket'], dns: ['resolver'],
};

export function findTable(tables: TableInfo[], name: string): TableInfo | undefined {
  for (const candidate of [name, ...(ALIASES[name] ?? [])]) {
    const found = tables.find((table) => table.name === candidate || table.record === candidate);
    if (found)
      return found;
  }
  return undefined;
}

function fieldsOf(table: TableInfo, names: string[]): Field[] {
  return names.map((name) => table.fields.find((field) => field.name === name)
    ?? { name, kind: 'text', help: '' });
}

function identity(table: TableInfo): string[] {
  if (table.id?.length)
    return table.id;
  const known = ['cookie', 'pid', 'tid', 'dev', 'ifindex', 'handle', 'laddr', 'lport', 'raddr', 'rport', 'counter',
    'limit', 'name', 'id', 'cgroup', 'reason', 'proto', 'netns'];
  return known.filter((name) => table.fields.some((field) => field.name === name));
}

function Columns({ table, columns, set, close }:
  { table: TableInfo; columns: string[]; set: (columns: string[] | null) => void; close: () => void }) {
  const [search, setSearch] = useState('');
  const toggle = (name: string) => set(columns.includes(name)
    ? columns.filter((other) => other !== name) : [...columns, name]);
  const shown = table.fields.filter((field) => `${field.name} ${field.help}`.includes(search));
  return (
    <Drawer title="Columns" close={close}>
      <div class="filter-line">
        <input type="search" value={search} placeholder="Search fields" aria-label="Search fields"
          onInput={(event) => setSearch(event.currentTarget.value)} />
        <button type="button" onClick={() => set(null)}>Default</button>
      </div>
      <ul class="checks">
        {shown.map((field) => (
          <li key={field.name}><label>
            <input type="checkbox" checked={columns.includes(field.name)} onChange={() => toggle(field.name)} />
            <code>{field.name}</code> <span class="quiet">{field.help}{field.unit ? ` (${field.unit})` : ''}</span>
          </label></li>))}
      </ul>
    </Drawer>
  );
}

function unitOf(field: Field): string {
  return field.unit ?? (field.kind === 'duration' ? 'ns' : field.kind === 'bytes' ? 'B' : '');
}

const HISTORY_POINTS = 30, HISTORY_AT_ONCE = 5;

// What a row did over time: of the live host since it was opened, of a recording at moments before the chosen one.
function useHistory(table: TableInfo, key: string, where: string | null, fields: Field[], row: Row | null) {
  const source = useSource(), recording = useRecording(), at = useMoment();
  const kept = useRef<{ key: string; points: { time: number; row: Row }[] }>({ key: '', points: [] });
  if (kept.current.key !== key)
    kept.current = { key, points: [] };
  if (!recording && row && kept.current.points.at(-1)?.row !== row)
    kept.current.points = [...kept.current.points.slice(-600), { time: Date.now() * 1e6, row }];
  const past = useLoad(async (signal) => {
    if (!recording || !where || at === null || fields.length === 0)
      return [];
    const points: { time: number; row: Row }[] = [];
    const length = recording.to_ns - recording.from_ns;
    const show = fields.map((field) => field.name).join(',');
    for (let i = 1; i <= HISTORY_POINTS && !signal.aborted; i += HISTORY_AT_ONCE)
      points.push(...await Promise.all(Array.from({ length: HISTORY_AT_ONCE }, async (_, k) => {
        const time = Math.round(recording.from_ns + length * (i + k) / HISTORY_POINTS);
        const answer = await get<Rows>(`tables/${table.name}`, { ...source, where, show, limit: 1, at: time }, signal);
        return { time, row: answer.rows[0] ?? {} };
      })));
    return points;
  }, [recording?.id, where, table.name]);
  return recording ? past.data ?? [] : kept.current.points;
}

function History({ points, fields }: { points: { time: number; row: Row }[]; fields: Field[] }) {
  const recording = useRecording();
  // The place of the plots, so that what is below does not move when they come.
  if (points.length === 0)
    return <p class="quiet" style={{ minHeight: `${fields.length * 116}px` }} role="status">
      {recording ? 'Reading the recording' : 'Waiting for a sample'}</p>;
  const from = points[0]!.time, step = (points.at(-1)!.time - from) / (points.length - 1) || 1e9;
  return <>
    {fields.map((field) => {
      const values = points.map((point) => (typeof point.row[field.name] === 'number'
        ? point.row[field.name] as number : null));
      if (values.every((value) => value === null))
        return null;
      return (
        <div key={field.name} class="small-plot">
          <h3>{heading(field.name)}</h3>
          <Plot height={90} label={`${field.name} over time`} sync="row" data={{ from_ns: from, step_ns: step,
            series: [{ name: field.name, title: heading(field.name), unit: unitOf(field), values }] }} />
        </div>);
    })}
  </>;
}

// Conditions that find a row again.
export function rowWhere(table: TableInfo, row: Row): string | null {
  const terms = identity(table).filter((name) => row[name] !== null && row[name] !== undefined)
    .map((name) => `${name} == ${literal(row[name], table.fields.find((field) => field.name === name)!)}`);
  return terms.length ? terms.join(' and ') : null;
}

const PLOTS = ['rx_rate', 'tx_rate', 'srtt_ns', 'cwnd', 'retrans_rate', 'sendq_bytes', 'recvq_bytes', 'backlog',
  'backlog_bytes', 'rx_bytes', 'tx_bytes', 'count', 'value', 'drops'];

function RowDrawer({ table, row, where, close, narrow }: {
  table: TableInfo; row: Row; where: string | null; close: () => void; narrow: (term: string) => void;
}) {
  const { route } = useWorld();
  const source = useSource(), at = useMoment(), recording = useRecording();
  const full = useLoad((signal) => (where
    ? get<Rows>(`tables/${table.name}`, { ...source, where, limit: 1, at }, signal) : Promise.resolve(null)),
  [source, where, table.name, at], recording ? 0 : REFRESH_MS);
  const shown: Row = full.data?.rows[0] ?? row;
  const plotted = fieldsOf(table, (table.plots?.length ? table.plots : PLOTS)
    .filter((name) => typeof shown[name] === 'number')).slice(0, 5);
  const points = useHistory(table, where ?? '', where, plotted, full.data?.rows[0] ?? null);
  const pid = shown.pid, raddr = shown.raddr, rport = shown.rport, lport = shown.lport;
  const gone = full.data !== null && full.data.rows.length === 0;
  const title = [shown.comm, shown.dev, shown.raddr && shown.rport ? `${shown.raddr}:${shown.rport}`
    : shown.laddr && shown.lport ? `${shown.laddr}:${shown.lport}` : '', shown.name]
    .filter(Boolean).join(' ') || table.name;
  return (
    <Drawer title={title} close={close}>
      {gone && <p class="banner info">This row no longer exists; its last values are shown.</p>}
      <p class="links">
        {pid ? <a class="button" href={linkTo('tables', 'connections', { where: `pid == ${pid}` }, route)}>
          Connections of pid {String(pid)}</a> : null}
        {raddr && rport ? <a class="button"
          href={linkTo('tables', 'connections', { where: `raddr == ${raddr}` }, route)}>
          Connections to {String(raddr)}</a> : null}
        {raddr && lport && rport ? <a class="button" href={linkTo('tools', 'tcpretrans',
          { where: `lport == ${lport} and rport == ${rport}` }, route)}>Its retransmissions</a> : null}
      </p>
      {plotted.length > 0 && <History points={points} fields={plotted} />}
      <table class="plain facts-table">
        <caption class="quiet">All fields; a click on a value adds it to the filter</caption>
        <tbody>
          {table.fields.filter((field) => shown[field.name] !== undefined).map((field) => {
            const value = shown[field.name];
            const usable = value !== null && typeof value !== 'object';
            return (
              <tr key={field.name}>
                <th scope="row" title={field.help}>{field.name}</th>
                <td>{usable
                  ? <button type="button" class="value" title={`Filter by it. ${field.help ?? ''}`}
                    onClick={() => narrow(`${field.name} == ${literal(value, field)}`)}>
                    {fieldValue(value, field)}</button>
                  : fieldValue(value, field)}</td>
              </tr>);
          })}
        </tbody>
      </table>
      <Copy text={JSON.stringify(shown, null, 1)} label="Copy as JSON" />
    </Drawer>
  );
}

function download(name: string, text: string, type: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The command that shows the same rows in a terminal.
function commandOf(table: TableInfo, where: string, columns: string[] | null, place: string[]): string {
  const names: Record<string, string> = { connections: 'sockets', listeners: 'sockets -l', interfaces: 'links',
    sockets: 'sockets', links: 'links', routes: 'routes', counters: 'counters', limits: 'limits' };
  const words = ['nest', names[table.name] ?? (table.page ? `top --page ${table.name}` : `tables ${table.name}`)];
  words.push(...place);
  if (where && !table.page)
    words.push('--where', shell(where));
  if (columns && !table.page)
    words.push('--show', columns.join(','));
  return words.join(' ');
}

// An expression that this table can be filtered with.
function exampleOf(table: TableInfo): string {
  const has = (...names: string[]) => names.every((name) => table.fields.some((field) => field.name === name));
  const text = table.fields.find((field) => field.kind === 'text' && table.columns.includes(field.name));
  return has('rport', 'comm') ? 'rport == 443 and comm ~ "nginx*"' : has('dev') ? 'dev == "eth0"'
    : text ? `${text.name} ~ "a*"` : 'pid == 1';
}

function countText(shown: number, total: number): string {
  if (shown < total)
    return `${whole(shown)} of ${whole(total)} rows`;
  return total === 1 ? '1 row' : `${whole(total)} rows`;
}

function TableOf({ table }: { table: TableInfo }) {
  const { route, change } = useWorld();
  const source = useSource(), recording = useRecording(), at = useMoment();
  const where = route.args.where ?? '';
  const columns = route.args.show ? route.args.show.split(',') : table.columns;
  const sort = route.args.sort ?? table.sort ?? '';
  const [paused, setPaused] = useState(false);
  const place = usePlace();
  const [choosing, setChoosing] = useState(false);
  const ids = identity(table);
  const show = [...new Set([...columns, ...ids, ...(sort ? [sort.replace(/^-/, '')] : [])])]
    .filter((name) => table.fields.some((field) => field.name === name)).join(',');
  const rowsOf = (limit: number, signal: AbortSignal) =>
    get<Rows>(`tables/${table.name}`, { ...source, where, show, sort, limit, at }, signal);
  const [more, setMore] = useState('');
  const question = JSON.stringify([source, table.name, where, show, sort, at]);
  const loaded = useLoad(async (signal) => {
    const answer = await rowsOf(more === question ? MOST_ROWS : FIRST_ROWS, signal);
    if (answer.total > answer.rows.length && more !== question && answer.rows.length < MOST_ROWS)
      setMore(question);
    return { ...answer, question };
  }, [question, more === question], recording || paused ? 0 : REFRESH_MS);
  const wrong = loaded.error instanceof ApiError && loaded.error.status === 400 ? loaded.error : null;
  const data = !wrong && loaded.data && JSON.parse(loaded.data.question)[1] === table.name ? loaded.data : null;
  const rows = useMemo(() => sortRows(data?.rows ?? [], sort), [data, sort]);
  const fields = fieldsOf(table, columns);
  const keyOf = (row: Row) => ids.map((name) => String(row[name])).join(' ');
  const openKey = route.args.row ?? null;
  const [openRow, setOpenRow] = useState<Row | null>(null);
  useEffect(() => {
    const found = openKey === null ? null : rows.find((row) => keyOf(row) === openKey);
    if (found || openKey === null)
      setOpenRow(found ?? null);
  }, [openKey, rows]);
  useKeys({ p: () => setPaused((is) => !is), c: () => setChoosing(true) }, []);
  const bad = wrong ? { error: wrong.message, at: wrong.at } : null;
  return (
    <div class="table-view">
      <FilterBar table={table.name} example={exampleOf(table)} value={where} error={bad}
        set={(text) => change({ where: text, row: null })} />
      <div class="toolbar">
        <span role="status">{data && countText(rows.length, data.total)}{loaded.loading && data ? ' …' : ''}</span>
        <span class="quiet">{table.help}</span>
        <span class="grow" />
        {!recording && <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Paused: resume' : 'Pause'}</button>}
        <button type="button" onClick={() => setChoosing(true)}>Columns</button>
        <button type="button" disabled={!rows.length} onClick={() => download(`${table.name}.jsonl`,
          rows.map((row) => `${JSON.stringify(row)}\n`).join(''), 'application/jsonl')}>Save JSON</button>
      </div>
      {loaded.error && !wrong && !data && <Failed error={loaded.error} retry={loaded.reload} />}
      {loaded.error && !wrong && data && <p class="banner" role="alert">
        {loaded.error.message}: the rows are from before. Trying again.</p>}
      {!data && !loaded.error && <Loading what={table.name} />}
      {data && rows.length === 0 && <Empty title={where ? 'No row matches the filter' : `No ${table.name}`}>
        {where ? <button type="button" onClick={() => change({ where: null })}>Clear the filter</button>
          : 'The table is empty.'}</Empty>}
      {data && rows.length > 0 && <Grid label={table.name} rows={rows} fields={fields} sort={sort} keyOf={keyOf}
        setSort={(next) => change({ sort: next }, true)} open={(row) => change({ row: keyOf(row) }, true)}
        opened={openKey} />}
      {!wrong && <Command line={commandOf(table, where, route.args.show ? columns : null, place)} />}
      {choosing && <Columns table={table} columns={columns} close={() => setChoosing(false)}
        set={(next) => change({ show: next?.join(',') }, true)} />}
      {openRow && !choosing && <RowDrawer table={table} row={openRow} where={rowWhere(table, openRow)}
        close={() => change({ row: null }, true)}
        narrow={(term) => change({ where: andWhere(where, term), row: null })} />}
    </div>
  );
}

function tabLink({ table, where, sort, show }: typeof TABS[number], route: Route): string {
  return linkTo('tables', table, { ...(where && { where }), ...(sort && { sort }), ...(show && { show }) }, route);
}

export function Tables() {
  const { route } = useWorld();
  const where = route.args.where ?? '';
  const list = useLoad(async (signal) => {
    const answer = await get<{ tables: TableInfo[] }>('tables', {}, signal);
    return answer.tables.map((table) => ({ ...table, fields: table.fields.map(normalField) }));
  }, []);
  // The bare view is its first tab, with its filter in the address.
  const bare = list.data && !route.part && !where ? TABS[0]! : null;
  useEffect(() => {
    if (bare)
      location.replace(tabLink(bare, route));
  }, [bare]);
  if (list.error && !list.data)
    return <Failed error={list.error} retry={list.reload} />;
  if (!list.data)
    return <Loading what="the list of tables" />;
  const tables = list.data;
  const tabs = TABS.filter((tab) => tables.some((table) => table.name === tab.table));
  const table = findTable(tables, route.part || TABS[0]!.table);
  const others = [...tables].sort((a, b) => a.name.localeCompare(b.name));
  const current = tabs.find((tab) => tab.table === table?.name && tab.where === where);
  const open = (name: string) => {
    location.hash = linkTo('tables', name, {}, route);
  };
  return (
    <div class="tables">
      <MomentBar />
      <nav class="tabs" aria-label="Tables">
        {tabs.map((tab) => (
          <a key={tab.title} href={tabLink(tab, route)}
            aria-current={tab === current ? 'page' : undefined}>{tab.title}</a>))}
        <select aria-label="All tables" value={current ? '' : table?.name ?? ''}
          onChange={(event) => event.currentTarget.value && open(event.currentTarget.value)}>
          <option value="">all tables…</option>
          {others.map((other) => <option key={other.name} value={other.name}>{other.name}</option>)}
        </select>
      </nav>
      {table ? <TableOf key={table.name} table={table} />
        : <Empty title={`No table ${route.part}`}>
          <a class="button" href={linkTo('tables', '', {}, route)}>Show connections</a></Empty>}
    </div>
  );
}
