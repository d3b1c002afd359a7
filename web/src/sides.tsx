// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings side by side: two hosts, or before and after, on axes of the same scale.
import { get, type Diagnosis, type Measures, type Recording } from './api';
import { compareMeasures, Comparison, mostOf } from './comparison';
import { useWorld, WorldContext } from './context';
import { FindingCard } from './finding';
import { dateTime, duration } from './format';
import { useLoad } from './hooks';
import { Empty, Failed, Loading } from './parts';
import { Plot } from './plot';
import { groupSeries, useMeasures } from './time';
import type { FindingSpan } from './api';

function useSide(recording: Recording | null) {
  const source = { recording: recording?.id };
  const measures = useMeasures(source, null, recording !== null);
  const findings = useLoad(async (signal) => (recording
    ? get<{ rows: FindingSpan[] }>('findings', source, signal) : null), [recording?.id]);
  const diagnosis = useLoad(async (signal) => (recording
    ? get<Diagnosis>('diagnosis', source, signal) : null), [recording?.id]);
  return { recording, measures: measures.data, findings: findings.data?.rows ?? [], diagnosis: diagnosis.data,
    error: measures.error };
}

type Side = ReturnType<typeof useSide>;

function Choice({ label, name, value }: { label: string; name: string; value: Recording | null }) {
  const { about, change } = useWorld();
  return (
    <label>{label} <select value={value ? String(value.id) : ''}
      onChange={(event) => change({ [name]: event.currentTarget.value })}>
      {about.recordings.map((recording) => (
        <option key={recording.id} value={String(recording.id)}>{recording.name} ({recording.host})</option>))}
    </select></label>
  );
}

function Summary({ side }: { side: Side }) {
  const world = useWorld();
  if (!side.recording)
    return null;
  // Links of a finding lead into its own recording.
  const route = { ...world.route, args: { ...world.route.args, rec: String(side.recording.id) } };
  const worst = [...side.findings].sort((a, b) => b.certainty - a.certainty);
  const once = worst.filter((row, i) => worst.findIndex(
    (other) => other.cause === row.cause && other.module === row.module) === i);
  return (
    <section class="side">
      <h2>{side.recording.name}</h2>
      <p class="quiet">{side.recording.host}, {dateTime(side.recording.from_ns)},{' '}
        {duration(side.recording.to_ns - side.recording.from_ns)}</p>
      {once.length === 0 && <p>No findings.</p>}
      <WorldContext.Provider value={{ ...world, route }}>
        {once.slice(0, 4).map((finding) => (
          <FindingCard key={`${finding.cause} ${finding.module}`} finding={finding} />))}
      </WorldContext.Provider>
    </section>
  );
}

function Plots({ left, right }: { left: Measures; right: Measures }) {
  const others = groupSeries(right.series);
  const lengthOf = (data: Measures) => data.step_ns * Math.max(1, (data.series[0]?.values.length ?? 1) - 1);
  const length = Math.max(lengthOf(left), lengthOf(right));
  return <>
    {groupSeries(left.series).map((group) => {
      const other = others.find((one) => one.title === group.title);
      const both = [...group.series, ...(other?.series ?? [])];
      const top = 1.08 * Math.max(0, ...both.map((one) => mostOf(one.values) ?? 0));
      const side = (data: Measures, series: Measures['series'], name: string) => (
        <Plot data={{ from_ns: data.from_ns, step_ns: data.step_ns, series }} height={150} top={top} relative
          range={{ from: 0, to: length }}
          label={`${group.title} of the ${name} recording`} />);
      return (
        <section class="card" key={group.title}>
          <h2>{group.title}</h2>
          <div class="two">
            {side(left, group.series, 'left')}
            {other ? side(right, other.series, 'right') : <p class="quiet">Not recorded.</p>}
          </div>
        </section>);
    })}
  </>;
}

export function Sides() {
  const { about, route } = useWorld();
  const find = (id: string | undefined, otherwise: number) =>
    about.recordings.find((recording) => String(recording.id) === id) ?? about.recordings[otherwise] ?? null;
  const a = find(route.args.left, 0), b = find(route.args.right, about.recordings.length > 1 ? 1 : 0);
  const left = useSide(a), right = useSide(b);
  if (about.recordings.length === 0)
    return <Empty title="No recordings">Open two of them: <code>nest serve -f before.nest -f after.nest</code></Empty>;
  const error = left.error ?? right.error;
  return (
    <div class="sides">
      <div class="toolbar">
        <Choice label="Left" name="left" value={a} /><Choice label="Right" name="right" value={b} />
        {about.recordings.length === 1 && <span class="quiet">Only one recording is open: nest serve -f A -f B</span>}
      </div>
      {error && <Failed error={error} />}
      <div class="two"><Summary side={left} /><Summary side={right} /></div>
      {left.measures && right.measures ? <>
        <section class="card"><h2>Difference</h2>
          <Comparison names={['left', 'right']} rows={compareMeasures(left.measures, right.measures)}
            findings={[left.findings, right.findings]} /></section>
        <Plots left={left.measures} right={right.measures} />
      </> : !error && <Loading what="both recordings" />}
    </div>
  );
}
