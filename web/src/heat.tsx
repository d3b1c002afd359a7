// SPDX-License-Identifier: GPL-2.0-or-later
// Distributions: a histogram with powers of two, and the same over time as a heat map.
import { scaleLinear, scaleSqrt } from 'd3-scale';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Field } from './api';
import { fieldValue, timeOfDay, whole } from './format';
import { useWidth } from './hooks';
import { useTheme } from './theme';

export interface Bucket { lo: number; hi: number; count: number }
export interface Sample { time: number; buckets: Bucket[] }

// Log2 bucket of a value, as the tools have them: [2^n, 2^(n+1)).
export function bucketOf(value: number): Bucket {
  if (value < 1)
    return { lo: 0, hi: 1, count: 1 };
  const lo = 2 ** Math.floor(Math.log2(value));
  return { lo, hi: 2 * lo, count: 1 };
}

export function addUp(samples: Sample[]): Bucket[] {
  const sums = new Map<number, Bucket>();
  for (const sample of samples)
    for (const bucket of sample.buckets) {
      const sum = sums.get(bucket.lo);
      if (sum)
        sum.count += bucket.count;
      else
        sums.set(bucket.lo, { ...bucket });
    }
  return [...sums.values()].filter((bucket) => bucket.count > 0).sort((a, b) => a.lo - b.lo);
}

// Inside a bucket values are taken as evenly spread.
export function quantile(buckets: Bucket[], share: number): number | null {
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  let left = total * share;
  for (const bucket of buckets) {
    if (left <= bucket.count && bucket.count > 0)
      return bucket.lo + (bucket.hi - bucket.lo) * (left / bucket.count);
    left -= bucket.count;
  }
  return null;
}

// exact: whoever shows it knows the quantiles better.
export function Histogram({ buckets, field, exact }: { buckets: Bucket[]; field: Field; exact?: boolean }) {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (total === 0)
    return <p class="quiet">No values yet.</p>;
  const say = (share: number) => fieldValue(quantile(buckets, share), field);
  return (
    <figure class="histogram">
      <table class="plain">
        <tbody>
          {buckets.map((bucket) => (
            <tr key={bucket.lo}>
              <th scope="row">{fieldValue(bucket.lo, field)} .. {fieldValue(bucket.hi, field)}</th>
              <td class="number">{whole(bucket.count)}</td>
              <td class="hist-cell">{bucket.count > 0
                && <span class="hist-bar" style={{ width: `${100 * bucket.count / most}%` }} />}</td>
            </tr>))}
        </tbody>
      </table>
      {!exact && <figcaption>count {whole(total)}, p50 ~ {say(0.5)}, p90 ~ {say(0.9)}, p99 ~ {say(0.99)}</figcaption>}
    </figure>
  );
}

const CELL_H = 22, LEFT = 90, BOTTOM = 20;
export const INTERVAL_NS = 1e9;

export function HeatMap({ samples, field }: { samples: Sample[]; field: Field }) {
  const [attach, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const all = useMemo(() => addUp(samples), [samples]);
  const height = Math.max(1, all.length) * CELL_H + BOTTOM;
  useEffect(() => {
    const target = canvas.current;
    if (!target || width === 0 || samples.length === 0)
      return;
    const ratio = window.devicePixelRatio || 1;
    target.width = width * ratio;
    target.height = height * ratio;
    target.style.width = `${width}px`;
    target.style.height = `${height}px`;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--quiet'), hot = style.getPropertyValue('--heat').trim();
    const draw = target.getContext('2d')!;
    draw.scale(ratio, ratio);
    draw.clearRect(0, 0, width, height);
    draw.font = '11px system-ui, sans-serif';
    // A strip of at least 20 s, so that cells do not change their width with every second of the beginning.
    const from = samples[0]!.time, to = Math.max(samples.at(-1)!.time, from + 19 * INTERVAL_NS);
    const cell = Math.max(1, (width - LEFT) / ((to - from) / INTERVAL_NS + 1));
    const x = scaleLinear().domain([from, to]).range([LEFT, width - cell]);
    const strength = scaleSqrt().range([0.08, 1])
      .domain([0, Math.max(1, ...samples.flatMap((sample) => sample.buckets.map((bucket) => bucket.count)))]);
    const row = new Map(all.map((bucket, i) => [bucket.lo, all.length - 1 - i]));
    draw.fillStyle = hot;
    for (const sample of samples)
      for (const bucket of sample.buckets) {
        if (bucket.count === 0)
          continue;
        draw.globalAlpha = strength(bucket.count);
        draw.fillRect(x(sample.time), row.get(bucket.lo)! * CELL_H, Math.max(1, cell - 1), CELL_H - 1);
      }
    draw.globalAlpha = 1;
    draw.fillStyle = ink;
    draw.textAlign = 'right';
    all.forEach((bucket, i) => {
      if (all.length < 12 || i % 2 === 0)
        draw.fillText(fieldValue(bucket.lo, field), LEFT - 8, (all.length - i) * CELL_H - 7);
    });
    draw.textAlign = 'left';
    draw.fillText(timeOfDay(from), LEFT, height - 5);
    draw.textAlign = 'right';
    draw.fillText(timeOfDay(to), width, height - 5);
  }, [samples, width, theme, field.name]);
  return (
    <div class="heat" ref={attach}>
      <canvas ref={canvas} role="img" aria-label={`${field.name} over time: ${samples.length} intervals, `
        + `${all.length} ranges of values`} />
    </div>
  );
}
