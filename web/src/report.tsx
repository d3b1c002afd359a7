// SPDX-License-Identifier: GPL-2.0-or-later
// The report of a recording, as nest report --html writes it: findings, timeline, talkers, drops, latency.
import type { ComponentChildren } from 'preact';
import type { Field, FindingSpan, Row, Series } from './api';
import { dateTime, duration, fieldValue, heading, isNumber, whole } from './format';
import { Histogram, type Bucket } from './heat';
import { Empty } from './parts';
import { Plot } from './plot';
import { Lanes } from './time';
import { guessField } from './tools';

interface Stall {
  begin_ns: number; end_ns: number | null; span_ns: number; cause: string; module: string; layer: string;
  certainty: number; because: string | null;
}
interface Latency { what: string; count: number; p50_ns: number; p95_ns: number; p99_ns: number; max_ns: number;
  hist: Bucket[] | null }
type Point = Record<string, number | null> & { time_ns: number };
export interface ReportRecord {
  file: string | null; host: string | null; kernel: string | null; command: string | null; begin_ns: number;
  end_ns: number; span_ns: number; samples: number; lost: number; stalls: Stall[] | null; oopses: Row[] | null;
  marks: Row[] | null; talkers: Row[] | null; retransmits: Row[] | null; drops: Row[] | null;
  latency: Latency[] | null; series: Point[] | null; unknown: string[] | null;
}
export interface ReportDocument { report: ReportRecord; changes: Row[] | null }

// What the names do not say.
const KINDS: Record<string, Partial<Field>> = {
  retrans_share: { kind: 'ratio', unit: '%' }, rate: { kind: 'count', unit: '/s' }, ratio: { kind: 'ratio' },
  certainty: { kind: 'ratio' }, begin_ns: { kind: 'time' }, end_ns: { kind: 'time' }, port: { kind: 'id' },
  highest: { kind: 'ratio' }, worst_certainty: { kind: 'ratio' }, retransmit_share: { kind: 'ratio', unit: '%' },
};

function fieldsOf(rows: Row[]): Field[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.filter((name) => rows.some((row) => row[name] !== null && !Array.isArray(row[name]))).map((name) => {
    const field: Field = { ...guessField(name), ...KINDS[name] };
    return field.kind === 'text' && rows.some((row) => typeof row[name] === 'number')
      ? { ...field, kind: 'count' } : field;
  });
}

// Without its unit, unless another field is called the same then.
function headingOf(field: Field, fields: Field[]): string {
  const short = heading(field.name);
  return fields.some((other) => other !== field && heading(other.name) === short && other.name === short)
    ? field.name.replace(/_/g, ' ') : short;
}

// hide: fields that are not shown. cell: what a cell holds in place of its value; undefined: its value.
export function Table({ title, note, rows, hide = [], cell }: {
  title: string; note?: string; rows: Row[] | null; hide?: string[];
  cell?: (row: Row, field: Field) => ComponentChildren | undefined;
}) {
  if (!rows?.length)
    return null;
  const fields = fieldsOf(rows).filter((field) => !hide.includes(field.name));
  return (
    <section class="card">
      <h2>{title}</h2>
      {note && <p class="quiet">{note}</p>}
      <div class="table-scroll" tabIndex={0} role="region" aria-label={title}>
        <table class="plain">
          <thead><tr>{fields.map((field) => <th key={field.name} scope="col"
            class={isNumber(field) ? '' : 'left'}>{headingOf(field, fields)}</th>)}</tr></thead>
          <tbody>{rows.map((row, i) => <tr key={i}>{fields.map((field) => <td key={field.name}
            class={isNumber(field) ? '' : 'left'}>
            {cell?.(row, field) ?? fieldValue(row[field.name], field)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

const PLOTS: { title: string; series: { name: string; title: string; unit: string }[] }[] = [
  { title: 'Throughput', series: [{ name: 'tx_rate', title: 'sent', unit: 'B/s' },
    { name: 'rx_rate', title: 'received', unit: 'B/s' }] },
  { title: 'Retransmissions and drops', series: [{ name: 'retrans_rate', title: 'retransmitted segments', unit: '/s' },
    { name: 'drop_rate', title: 'drops', unit: '/s' }] },
  { title: 'TCP SRTT, median', series: [{ name: 'srtt_ns', title: 'SRTT', unit: 'ns' }] },
];

const STEP_NS = 1e9;

// Points are a second apart; where no sample was taken there is none.
export function seriesOf(points: Point[], name: string): (number | null)[] {
  const begin = points[0]?.time_ns ?? 0;
  const values: (number | null)[] = [];
  for (const point of points) {
    const at = Math.round((point.time_ns - begin) / STEP_NS);
    while (values.length < at)
      values.push(null);
    values[at] = point[name] ?? null;
  }
  return values;
}

function asFinding(stall: Stall): FindingSpan {
  return { ...stall, because: stall.because ?? '', severity: stall.certainty >= 0.5 ? 'high' : 'medium', advice: '',
    next: [] };
}

function Timeline({ report }: { report: ReportRecord }) {
  const points = report.series ?? [];
  if (points.length === 0)
    return null;
  const span = { from: report.begin_ns, to: Math.max(report.end_ns, report.begin_ns + 1e6) };
  const plots = PLOTS.map((plot) => ({ title: plot.title, data: { from_ns: points[0]!.time_ns, step_ns: STEP_NS,
    series: plot.series.map((one): Series => ({ ...one, values: seriesOf(points, one.name) })) } }));
  const none = plots.flatMap((plot) => plot.data.series).filter((series) => !series.values.some((value) => value));
  return (
    <section class="card">
      <h2>Timeline</h2>
      {!!report.stalls?.length && <Lanes findings={report.stalls.map(asFinding)} span={span} />}
      {plots.filter((plot) => plot.data.series.some((one) => !none.includes(one))).map((plot) => (
        <div class="report-plot" key={plot.title}>
        <h3>{plot.title}</h3>
        <Plot data={plot.data} height={150} range={span} sync="report"
          label={`${plot.title}: ${plot.data.series.map((one) => one.title).join(', ')}`} /></div>))}
      {none.length > 0 && <p class="quiet">None in this time: {none.map((one) => one.title).join(', ')}</p>}
    </section>
  );
}

export function Report({ document: { report, changes } }: { document: ReportDocument }) {
  const stalls = report.stalls ?? [];
  return (
    <div class="report">
      <header class="report-head">
        <h1>{report.host || report.file || 'nest report'}</h1>
        <p class="quiet">{dateTime(report.begin_ns)} to {dateTime(report.end_ns)}, {duration(report.span_ns)},{' '}
          {whole(report.samples)} samples, {whole(report.lost)} lost{report.kernel ? `, Linux ${report.kernel}` : ''}
          {report.file ? `, from ${report.file}` : ''}</p>
      </header>
      {stalls.length === 0 && !report.oopses?.length
        ? <section class="verdict healthy"><h2>No fault found</h2></section>
        : <section><h2 class="section-title">Findings</h2>{stalls.map((stall, i) => (
          <article class={`finding ${stall.certainty >= 0.5 ? 'high' : 'medium'}`} key={i}>
            <header><h3>{stall.cause}</h3><code>{stall.module}</code>
              <span class="quiet">certainty {stall.certainty.toFixed(2)}, {dateTime(stall.begin_ns)}, for{' '}
                {duration(stall.span_ns)}</span></header>
            <p class="because">{stall.because}</p>
          </article>))}</section>}
      <Table title="Kernel reports" rows={report.oopses} />
      <Table title="Differences" rows={changes} />
      <Timeline report={report} />
      <Table title="Marks" rows={report.marks} />
      <Table title="Top talkers" rows={report.talkers} />
      <Table title="Retransmits" rows={report.retransmits} />
      <Table title="Drops by reason" rows={report.drops} />
      {!!report.latency?.length && <section class="card"><h2>Latency</h2>
        {report.latency.map((one) => <div class="latency" key={one.what}>
          <h3>{one.what} <span class="quiet">{whole(one.count)} values, p50 {duration(one.p50_ns)}, p95{' '}
            {duration(one.p95_ns)}, p99 {duration(one.p99_ns)}, max {duration(one.max_ns)}</span></h3>
          {one.hist?.length ? <Histogram buckets={one.hist} exact field={{ name: 'lat_ns', kind: 'duration' }} />
            : <Empty title="No values" />}</div>)}
      </section>}
      {!!report.unknown?.length && <section class="card"><h2>Limits of this report</h2>
        <ul>{report.unknown.map((text) => <li key={text}>{text}</li>)}</ul></section>}
    </div>
  );
}
