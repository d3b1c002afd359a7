// SPDX-License-Identifier: GPL-2.0-or-later
// A plot over time: uPlot in the colours of the page, with units, a shared cursor and a span to drag.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Series } from './api';
import { dateTime, duration, timeOfDay, withUnit } from './format';
import { useWidth } from './hooks';
import { useTheme } from './theme';

export interface PlotData { from_ns: number; step_ns: number; series: Series[] }

// Steps of an axis of things that cannot be halved.
const WHOLE = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((digit) => digit * 10 ** i)).flat();

// Steps of an axis of times, in seconds: round minutes, hours and days.
const TIMES = [...[0.001, 0.01, 0.1].flatMap((size) => [1, 2, 5].map((digit) => digit * size)), 1, 2, 5, 10, 15, 30, 60,
  120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 7, 14, 28].map((days) => days * 86400)];
const LONG_S = 2 * 86400;

const COLOURS = ['--plot-1', '--plot-2', '--plot-3', '--plot-4', '--plot-5', '--plot-6', '--plot-7', '--plot-8'];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface Props {
  data: PlotData; height: number; label: string; sync?: string;
  range?: { from: number; to: number };
  top?: number; // of the y axis, where two plots share one
  relative?: boolean; // times from the beginning
  select?: (from: number, to: number) => void;
  whole?: () => void;
}

function columns({ data, relative }: Props): uPlot.AlignedData {
  const length = Math.max(0, ...data.series.map((series) => series.values.length));
  const xs = new Float64Array(length);
  for (let i = 0; i < length; i++)
    xs[i] = ((relative ? 0 : data.from_ns) + i * data.step_ns) / 1e9;
  return [xs, ...data.series.map((series) => series.values)] as uPlot.AlignedData;
}

// A sample that came late is no gap: from three missing values on it is one.
function longGaps(plot: uPlot, _series: number, _first: number, _last: number, gaps: uPlot.Series.Gaps) {
  const xs = plot.data[0];
  const step = xs.length > 1 ? plot.valToPos(xs[1]!, 'x', true) - plot.valToPos(xs[0]!, 'x', true) : 0;
  return gaps.filter(([from, to]) => to - from > 3.5 * step);
}

// What is shown where no cursor is: the last known value.
function lastOf(values: ArrayLike<number | null | undefined> | undefined): number | null {
  for (let i = (values?.length ?? 0) - 1; i >= 0; i--)
    if (values![i] !== null && values![i] !== undefined)
      return values![i]!;
  return null;
}

function optionsOf(props: Props, width: number, live: { current: Props }): uPlot.Options {
  const unit = props.data.series[0]?.unit ?? '';
  const ink = colour('--quiet'), grid = colour('--line');
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 },
    font: '11px system-ui, sans-serif' };
  const format = (seconds: number) => {
    const { range } = live.current;
    if (props.relative)
      return `+${duration(seconds * 1e9)}`;
    return range && range.to - range.from > LONG_S * 1e9 ? dateTime(seconds * 1e9).slice(5, -3)
      : timeOfDay(seconds * 1e9);
  };
  return {
    width, height: props.height, padding: [8, 30, 0, 0],
    cursor: { sync: props.sync ? { key: props.sync } : undefined, drag: { x: true, y: false, setScale: false },
      points: { size: 5 },
      bind: { dblclick: () => () => { live.current.whole?.(); return null; } } },
    legend: { live: true },
    scales: {
      x: { time: false, range: (_plot, low, high) => (live.current.range
        ? [live.current.range.from / 1e9, live.current.range.to / 1e9] : [low, high]) },
      y: { range: (_plot, _low, high) => [0, Math.max(live.current.top ?? 0, high > 0 ? high * 1.08 : 1)] },
    },
    axes: [
      { ...axis, size: 28, space: 90, incrs: TIMES, values: (_plot, ticks) => ticks.map(format) },
      { ...axis, size: 74, space: 26, incrs: unit === 'B' || unit === '' ? WHOLE : undefined,
        values: (_plot, ticks) => ticks.map((tick) => withUnit(tick, unit)) },
    ],
    series: [
      { label: 'time', value: (plot, value: number | null) => format(value ?? lastOf(plot.data[0]) ?? 0) },
      ...props.data.series.map((series, i) => ({
        label: series.title, stroke: colour(COLOURS[i % COLOURS.length]!), width: 1.5, spanGaps: false, gaps: longGaps,
        fill: props.data.series.length === 1 ? `${colour(COLOURS[0]!)}22` : undefined,
        points: { show: (_plot: uPlot, _i: number, first: number, last: number) => last - first < 40, size: 4 },
        value: (plot: uPlot, value: number | null, index: number, at: number | null) =>
          withUnit(at === null ? lastOf(plot.data[index]) : value, series.unit),
      })),
    ],
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < 4)
          return;
        const from = plot.posToVal(plot.select.left, 'x') * 1e9;
        const to = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1e9;
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        live.current.select?.(Math.round(from), Math.round(to));
      }],
    },
  };
}

// Not even one known value: said in words instead of an empty frame.
export function hasValues(data: PlotData): boolean {
  return data.series.some((series) => series.values.some((value) => value !== null));
}

export function Plot(props: Props) {
  const [attach, width] = useWidth();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const live = useRef(props);
  const theme = useTheme();
  live.current = props;
  const shape = props.data.series.map((series) => `${series.name} ${series.title} ${series.unit}`).join(',');
  const shown = hasValues(props.data);

  useEffect(() => {
    if (!host.current || width === 0 || !shown)
      return undefined;
    const made = new uPlot(optionsOf(live.current, width, live), columns(live.current), host.current);
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [shape, theme, shown, width > 0, props.height, props.relative]);
  useEffect(() => {
    if (plot.current && width > 0)
      plot.current.setSize({ width, height: props.height });
  }, [width, props.height]);
  useEffect(() => {
    plot.current?.setData(columns(props));
  }, [props.data, props.range?.from, props.range?.to, props.top]);
  return (
    <div class="plot" ref={attach} role="img" aria-label={props.label}>
      <div ref={host} />
      {!shown && <p class="quiet plot-empty">No values in this span.</p>}
    </div>
  );
}
