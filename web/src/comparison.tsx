// SPDX-License-Identifier: GPL-2.0-or-later
// Two spans or two recordings beside each other, as figures: mean and maximum of each measure, and the findings.
import type { FindingSpan, Measures } from './api';
import { withUnit } from './format';

export interface Difference {
  name: string; title: string; unit: string; mean: [number | null, number | null]; most: [number | null, number | null];
}

function known(values: (number | null)[]): number[] {
  return values.filter((value): value is number => value !== null);
}

export function meanOf(values: (number | null)[]): number | null {
  const list = known(values);
  return list.length ? list.reduce((sum, value) => sum + value, 0) / list.length : null;
}

export function mostOf(values: (number | null)[]): number | null {
  const list = known(values);
  return list.length ? list.reduce((most, value) => Math.max(most, value)) : null;
}

export function compareMeasures(a: Measures, b: Measures): Difference[] {
  const valuesOf = (data: Measures, name: string) => data.series.find((one) => one.name === name)?.values ?? [];
  // A reason of drops may be in one of them only.
  const all = [...a.series, ...b.series.filter((one) => !a.series.some((other) => other.name === one.name))];
  return all.map((series) => {
    const before = valuesOf(a, series.name), after = valuesOf(b, series.name);
    return { name: series.name, title: series.name.startsWith('drop.') ? `drops, ${series.title}` : series.title,
      unit: series.unit, mean: [meanOf(before), meanOf(after)], most: [mostOf(before), mostOf(after)] };
  });
}

// '× 2.30', '÷ 20', 'new', 'none', or '' where they are the same.
export function changeText(a: number | null, b: number | null): string {
  if (a === null || b === null || a === b)
    return '';
  if (a === 0)
    return 'new';
  if (b === 0)
    return 'none';
  const ratio = b / a;
  if (ratio < 0.1)
    return `÷ ${(1 / ratio).toFixed(0)}`;
  return ratio >= 1.1 || ratio <= 0.91 ? `× ${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2)}` : '';
}

function FindingNames({ rows }: { rows: FindingSpan[] }) {
  const names = [...new Set(rows.map((row) => `${row.cause} ${row.module}`))];
  return names.length ? <>{names.map((name) => <div key={name}>{name}</div>)}</> : <>none</>;
}

export function Comparison({ names, rows, findings }:
  { names: [string, string]; rows: Difference[]; findings: [FindingSpan[], FindingSpan[]] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Comparison">
      <table class="plain">
        <thead>
          <tr><th scope="col">Measure</th><th scope="col">Mean {names[0]}</th><th scope="col">Mean {names[1]}</th>
            <th scope="col">Change</th><th scope="col">Maximum {names[0]}</th>
            <th scope="col">Maximum {names[1]}</th></tr>
        </thead>
        <tbody>
          <tr><th scope="row">Findings</th><td><FindingNames rows={findings[0]} /></td>
            <td><FindingNames rows={findings[1]} /></td><td /><td /><td /></tr>
          {rows.map((row) => {
            const change = changeText(row.mean[0], row.mean[1]);
            return (
              <tr key={row.name}>
                <th scope="row">{row.title}</th>
                <td>{withUnit(row.mean[0], row.unit)}</td><td>{withUnit(row.mean[1], row.unit)}</td>
                <td class={change ? 'changed' : ''}>{change}</td>
                <td>{withUnit(row.most[0], row.unit)}</td><td>{withUnit(row.most[1], row.unit)}</td>
              </tr>);
          })}
        </tbody>
      </table>
    </div>
  );
}
