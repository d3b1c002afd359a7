// SPDX-License-Identifier: GPL-2.0-or-later
// Path: where packets spend their time inside the host, from a recording or as they are followed.
import { useRef, useState } from 'preact/hooks';
import { ApiError, get, type Field, type Recording, type Runnable } from './api';
import { usePlace, useRecording, useSource, useSpan, useWorld } from './context';
import { FilterBar } from './filter';
import { shell, whole } from './format';
import { useLoad } from './hooks';
import { PathPicture, type PathDocument } from './journeys';
import { Command, Empty, Failed, Loading } from './parts';
import { SaveRecording, useRun } from './run';

// Fields of journeys, to complete a filter with.
function useFields(): Field[] {
  const events = useLoad((signal) => get<{ rows: Runnable[] }>('events', {}, signal), []);
  const names = events.data?.rows.filter((event) => event.event === 'path.rx' || event.event === 'path.tx')
    .flatMap((event) => event.fields as string[]) ?? [];
  return [...new Set(names)].map((name) => ({ name, kind: 'text', help: '' }));
}

function commandOf(place: string[], where: string, by: string, dir: string): string {
  return ['nest', 'path', ...place, ...(dir ? [`--${dir}`] : []),
    ...(where ? ['--where', shell(where)] : []), ...(by ? ['--by', by] : []), '--html', 'path.html'].join(' ');
}

function Recorded({ recording, where, by, dir }:
  { recording: Recording; where: string; by: string; dir: string }) {
  const { route, change } = useWorld();
  const source = useSource(), span = useSpan();
  const recorded = recording.tables.includes('journey');
  const loaded = useLoad(async (signal) => (recorded ? get<PathDocument>('path',
    { ...source, where, by, dir, from: span?.from, to: span?.to }, signal) : null),
  [source, where, by, dir, span, recorded]);
  if (!recorded)
    return <Empty title="This recording has no journeys">Packets are followed by <code>nest path</code>:
      <Command line="nest path --save path.nest -d 10" /></Empty>;
  const wrong = loaded.error instanceof ApiError && loaded.error.status === 400;
  if (wrong)
    return <p class="failed" role="alert">{loaded.error!.message}</p>;
  if (loaded.error)
    return <Failed error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data || loaded.loading)
    return <Loading what="journeys" />;
  if (loaded.data.journeys === 0)
    return <Empty title={where || dir || span ? 'No journey matches' : 'No journeys'}>{loaded.data.note}
      <button type="button" onClick={() => change({ where: null, dir: null, from: null, to: null })}>
        Show all</button></Empty>;
  return <PathPicture document={loaded.data} chosen={Number(route.args.journey ?? 0)}
    choose={(index) => change({ journey: index || null }, true)} />;
}

function Live({ where, by }: { where: string; by: string }) {
  const [doc, setDoc] = useState<PathDocument | null>(null);
  const [chosen, setChosen] = useState(0);
  // A journey that is looked at stays: the picture moves on when the reader does.
  const [held, setHeld] = useState<PathDocument | null>(null);
  const latest = useRef<PathDocument | null>(null);
  const { run, start, stop } = useRun('path', { where, by },
    (record) => {
      latest.current = record as unknown as PathDocument;
      setDoc(latest.current);
    }, () => { latest.current = null; setDoc(null); setHeld(null); setChosen(0); });
  const running = run?.state === 'running' || run?.state === 'starting';
  const shown = held ?? doc;
  return (
    <div class="runner">
      <div class="toolbar">
        {running ? <button type="button" class="primary" onClick={stop}>Stop</button>
          : <button type="button" class="primary" onClick={start}>Start</button>}
        {doc && running && <button type="button" aria-pressed={!!held}
          onClick={() => setHeld(held ? null : doc)}>{held ? 'Held: go on' : 'Hold'}</button>}
        <span role="status">{run?.state === 'starting' ? 'starting' : doc ? `${whole(doc.journeys)} journeys` : ''}
          {run?.state === 'ended' && run.text ? `, ${run.text}` : ''}
          {run && run.lost > 0 && <strong class="lost">, {whole(run.lost)} pictures lost</strong>}</span>
        <span class="grow" />
        <SaveRecording run={run} what="path" />
      </div>
      {run?.state === 'failed' && <Failed error={new Error(run.text)} retry={start} />}
      {!run && <Empty title="Not started">Start follows packets on the host of nest serve, from interrupt to
        application; it ends when you leave this page.</Empty>}
      {run && run.state !== 'failed' && !shown && <Empty title={running ? 'No journeys yet' : 'No journeys'}>
        {running ? 'The first picture takes a second.' : run.text}</Empty>}
      {shown && <PathPicture document={shown} chosen={chosen} choose={(index) => {
        setChosen(index);
        if (running && !held)
          setHeld(shown);
      }} />}
    </div>
  );
}

export function Path() {
  const { route, change } = useWorld();
  const recording = useRecording(), place = usePlace();
  const fields = useFields();
  const where = route.args.where ?? '', by = route.args.by ?? '', dir = route.args.dir ?? '';
  return (
    <div class="path">
      <FilterBar table="path" example={'rport == 443 and sched_ns > 1ms'} fields={fields} value={where} error={null}
        set={(text) => change({ where: text, journey: null })} />
      <div class="toolbar">
        <label>group by <input type="text" value={by} size={12} placeholder="comm,raddr"
          onChange={(event) => change({ by: event.currentTarget.value.trim() }, true)} /></label>
        {recording && <label>direction <select value={dir}
          onChange={(event) => change({ dir: event.currentTarget.value, journey: null })}>
          <option value="">both</option><option value="rx">received</option><option value="tx">sent</option>
        </select></label>}
      </div>
      {recording ? <Recorded recording={recording} where={where} by={by} dir={dir} /> : <Live where={where} by={by} />}
      {(!recording || recording.tables.includes('journey'))
        && <Command line={commandOf(place, where, by, recording ? dir : '')} />}
    </div>
  );
}
