// SPDX-License-Identifier: GPL-2.0-or-later
// The fleet: which hosts have findings, which causes, and which addresses and services many of them accuse.
import { get, type Field, type Finding, type Row, type Series } from './api';
import { useSpan, useWorld, type Span } from './context';
import { FindingCard } from './finding';
import { dateTime, duration, fieldValue, whole } from './format';
import { useLoad } from './hooks';
import { Command, Empty, Failed, Loading, Term } from './parts';
import { Plot } from './plot';
import { Table } from './report';
import { linkTo } from './route';

type Section = Row[] | null;
interface FleetReport {
  from_ns: number; to_ns: number; step_ns: number; hosts_seen: number; hosts_with_findings: number;
  host: string | null; conclusions: string[]; causes: Section; timeline: Section; findings: Section; accused: Section;
  accused_services: Section; lossy: Section; alone: Section; hosts: Section; services: Section; paths: Section;
  retransmits: Section; drops: Section; losses: Section;
}

const RANGES = ['15m', '1h', '6h', '24h', '7d'];
const REFRESH_MS = 30000;
// Causes with a line of their own in the plot.
const LINES = 6;

function useReport(host: string, last: string, span: Span | null) {
  return useLoad((signal) => get<FleetReport>('fleet', { host: host || null, last: span ? null : last,
    from: span?.from, to: span?.to }, signal), [host, last, span?.from, span?.to], span ? 0 : REFRESH_MS);
}

// Hosts that report a cause, of one host its findings, per step; a step without any is 0.
function causeSeries(report: FleetReport, rows: Row[]): Series[] {
  const steps = Math.max(1, Math.ceil((report.to_ns - report.from_ns) / report.step_ns) + 1);
  const begin = Math.floor(report.from_ns / report.step_ns);
  const series = new Map<string, number[]>();
  for (const row of rows) {
    const cause = String(row.cause), at = Math.round(Number(row.begin_ns) / report.step_ns) - begin;
    if (!series.has(cause))
      series.set(cause, Array.from({ length: steps }, () => 0));
    if (at >= 0 && at < steps)
      series.get(cause)![at] = Number(report.host ? row.findings : row.hosts);
  }
  return [...series].map(([cause, values]) => ({ name: cause, title: cause, unit: '', values }))
    .sort((a, b) => Math.max(...b.values) - Math.max(...a.values)).slice(0, LINES);
}

function Timeline({ report, select }: { report: FleetReport; select: (from: number, to: number) => void }) {
  if (!report.timeline?.length)
    return null;
  const begin = Math.floor(report.from_ns / report.step_ns) * report.step_ns;
  return (
    <section class="card">
      <h2>{report.host ? 'Findings by cause' : 'Hosts with findings, by cause'}</h2>
      <Plot data={{ from_ns: begin, step_ns: report.step_ns, series: causeSeries(report, report.timeline) }}
        height={170} label={`${report.host ? 'Findings' : 'Hosts with findings'} over time, by cause`} select={select}
        range={{ from: report.from_ns, to: report.to_ns }} />
      <p class="hint quiet">One point per {duration(report.step_ns)}. Drag across the plot to select a span.</p>
    </section>
  );
}

function Verdict({ report }: { report: FleetReport }) {
  const shared = report.conclusions;
  const seen = report.host ? report.host
    : `${whole(report.hosts_seen)} ${report.hosts_seen === 1 ? 'host' : 'hosts'}, ${
      whole(report.hosts_with_findings)} with findings`;
  const found = report.host ? report.findings?.length ?? 0 : report.hosts_with_findings;
  const title = shared[0] ?? (found === 0 ? 'No findings'
    : report.host ? `${whole(found)} ${found === 1 ? 'finding' : 'findings'}`
      : 'No address is accused by several hosts');
  return (
    <section class={`verdict ${shared.length ? 'high' : found ? 'medium' : 'healthy'}`} aria-live="polite">
      <h2>{title}</h2>
      {shared.length > 1 && <ul>{shared.slice(1).map((text) => <li key={text}>{text}</li>)}</ul>}
      <p class="quiet">{seen}, {dateTime(report.from_ns)} to {dateTime(report.to_ns)}</p>
    </section>
  );
}

// As nest report --fleet prints it; what is not asked about one host is absent there.
function Sections({ report, hostLink }: { report: FleetReport; hostLink: (host: string) => string }) {
  const cell = (row: Row, field: Field) => {
    const value = row[field.name];
    if (value === null || value === undefined)
      return undefined;
    switch (field.name) {
    case 'host':
      return <a href={hostLink(String(value))}>{String(value)}</a>;
    case 'accusers':
      return <>{String(value).split(', ').map((host, i) => <>{i > 0 && ', '}<a key={host} href={hostLink(host)}>
        {host}</a></>)}{Number(row.hosts) > 5 ? ' …' : ''}</>;
    case 'cause':
      return <Term word={String(value)} />;
    case 'worst':
      return <Term word={String(value)} />;
    case 'hosts':
      return row.talkers === undefined || row.talkers === null || Number(row.talkers) === 0 ? undefined
        : `${fieldValue(value, field)} of ${fieldValue(Math.max(Number(row.talkers), Number(value)), field)}`;
    default:
      return undefined;
    }
  };
  const table = (title: string, rows: Section, note?: string, hide: string[] = []) => (
    <Table title={title} rows={rows} note={note} hide={hide} cell={cell} />);
  return <>
    {table('Addresses accused', report.accused,
      'Hosts: how many accuse the address, or the path to it, of those that talk to it.', ['talkers'])}
    {table('Service ports accused', report.accused_services)}
    {table('Hosts with findings', report.hosts)}
    {!report.host && table('Causes', report.causes)}
    {table('Addresses to which several hosts retransmit 1 % or more', report.lossy, undefined, ['talkers'])}
    {table('Hosts that alone accuse several addresses', report.alone)}
    {table('Services', report.services)}
    {table('Peers by retransmissions', report.paths)}
    {table('Retransmissions by kind', report.retransmits)}
    {table('Dropped packets', report.drops)}
    {table('Rows and events that were lost', report.losses)}
  </>;
}

function asFinding(row: Row): Finding {
  return { cause: String(row.cause), layer: String(row.layer), module: String(row.module ?? ''),
    certainty: Number(row.highest ?? 0), severity: String(row.worst ?? 'low'), because: String(row.explanation ?? ''),
    advice: String(row.counsel ?? ''), next: [] };
}

function HostFindings({ rows }: { rows: Row[] }) {
  return (
    <section>
      <h2 class="section-title">Findings</h2>
      {rows.map((row) => (
        <FindingCard key={`${row.cause} ${row.module}`} finding={asFinding(row)}>
          <p class="quiet">{dateTime(Number(row.begin_ns))} to {dateTime(Number(row.end_ns))}, in{' '}
            {whole(Number(row.findings))} {Number(row.findings) === 1 ? 'window' : 'windows'}</p>
        </FindingCard>))}
    </section>
  );
}

// The same question on a command line; the password of the URL is not known here.
function commandOf(fleet: string, host: string, last: string, span: Span | null): string {
  const when = span ? `--from ${Math.round(span.from)} --to ${Math.round(span.to)}` : `--last ${last}`;
  return `nest report --fleet ${fleet}${host ? ` --host ${host}` : ''} ${when}`;
}

export function Fleet() {
  const { about, route, change } = useWorld();
  const host = route.part, span = useSpan();
  const last = RANGES.includes(route.args.last ?? '') ? route.args.last! : '1h';
  const loaded = useReport(host, last, span);
  const report = loaded.data && (loaded.data.host ?? '') === host ? loaded.data : null;
  const kept = route.args.last ? { last } : {} as Record<string, string>;
  const hostLink = (name: string) => linkTo('fleet', name, kept, route);
  const rows = report ? Object.values(report).some((part) => Array.isArray(part) && part.length > 0) : false;
  return (
    <div class="fleet">
      <div class="toolbar">
        <nav aria-label="Host" class="crumbs">
          {host ? <><a href={hostLink('')}>All hosts</a> <span aria-hidden="true">›</span> <strong>{host}</strong></>
            : <strong>All hosts</strong>}
        </nav>
        <span class="grow" />
        <span role="group" aria-label="Time range" class="ranges">
          {RANGES.map((range) => <button type="button" key={range} aria-pressed={!span && range === last}
            onClick={() => change({ last: range, from: null, to: null })}>{range}</button>)}
        </span>
        <button type="button" onClick={loaded.reload} disabled={loaded.loading}>Refresh</button>
      </div>
      {loaded.error && (report ? <p class="banner" role="alert">{loaded.error.message}. What is shown is from{' '}
        {dateTime(report.to_ns)}.</p> : <Failed error={loaded.error} retry={loaded.reload} />)}
      {!report && !loaded.error && <Loading what={host ? `findings of ${host}` : 'the fleet'} />}
      {report && <>
        {loaded.loading && <p class="only-read" role="status">Loading</p>}
        {rows || report.hosts_seen > 0 ? <>
          <Verdict report={report} />
          <Timeline report={report}
            select={(from, to) => change({ from: Math.round(from), to: Math.round(to), at: null })} />
          {!!report.findings?.length && <HostFindings rows={report.findings} />}
          <Sections report={report} hostLink={hostLink} />
        </> : <Empty title="No rows in this time">
          {host ? `${host} shipped nothing` : 'No host shipped anything'} from {dateTime(report.from_ns)} to{' '}
          {dateTime(report.to_ns)}. Select a longer time, or start <code>nest agent --ship URL</code>.</Empty>}
        <Command line={commandOf(about.fleet ?? '', host, last, span)} />
      </>}
    </div>
  );
}
