// SPDX-License-Identifier: GPL-2.0-or-later
// Of a recording: the moment that is shown, with the findings as marks to jump to.
import { useEffect, useState } from 'preact/hooks';
import { get, type FindingSpan } from './api';
import { useMoment, useRecording, useSource, useSpan, useWorld } from './context';
import { dateTime, duration, timeOfDay } from './format';
import { useLoad } from './hooks';

interface Findings { rows: FindingSpan[]; total: number; complete?: boolean }

const READING_MS = 1000;

// Findings of a span. The server reads a recording in the background: until it is through, asked again.
export function useFindings(from?: number, to?: number, every = 0) {
  const source = useSource();
  const [reading, setReading] = useState(false);
  const loaded = useLoad((signal) => get<Findings>('findings', { ...source, from, to }, signal), [source, from, to],
    reading ? READING_MS : every);
  useEffect(() => setReading(loaded.data?.complete === false), [loaded.data]);
  return { ...loaded, reading };
}

export function MomentBar() {
  const { change } = useWorld();
  const recording = useRecording(), span = useSpan(), at = useMoment();
  const findings = useFindings();
  if (!recording || at === null)
    return null;
  const from = span?.from ?? recording.from_ns, to = span?.to ?? recording.to_ns;
  const length = Math.max(1, to - from);
  const place = (ns: number) => 100 * Math.min(1, Math.max(0, (ns - from) / length));
  const go = (ns: number) => change({ at: Math.round(Math.min(to, Math.max(from, ns))) }, true);
  const rows = (findings.data?.rows ?? []).filter((row) => row.begin_ns < to && (row.end_ns ?? to) > from);
  const begins = rows.map((row) => row.begin_ns).sort((a, b) => a - b);
  const next = begins.find((begin) => begin > at + 1e6), before = [...begins].reverse().find((b) => b < at - 1e6);
  // A finding is reported some time after it begins: a second is enough for the next window.
  const jump = (begin: number | undefined) => begin !== undefined && go(begin + 1e9);
  return (
    <div class="moment">
      <button type="button" onClick={() => jump(before)} disabled={before === undefined}>‹ finding</button>
      <div class="moment-track">
        {rows.map((row) => (
          <span key={`${row.cause} ${row.module} ${row.begin_ns}`} class={`moment-mark ${row.severity}`}
            style={{ left: `${place(row.begin_ns)}%`,
              width: `${Math.max(0.4, place(row.end_ns ?? to) - place(row.begin_ns))}%` }}
            title={`${row.cause} ${row.module}`} />))}
        <input type="range" min={0} max={1000} value={Math.round(place(at) * 10)} aria-label="Moment of the recording"
          aria-valuetext={dateTime(at)}
          onInput={(event) => go(from + length * Number(event.currentTarget.value) / 1000)} />
      </div>
      <button type="button" onClick={() => jump(next)} disabled={next === undefined}>finding ›</button>
      <output>{timeOfDay(at, 1)} <span class="quiet">+{duration(at - recording.from_ns)}</span></output>
    </div>
  );
}
