// SPDX-License-Identifier: GPL-2.0-or-later
// Something that runs in the server and sends records: starting, following, stopping it, and saving what it sees.
import { useEffect, useRef, useState } from 'preact/hooks';
import { follow, get, post, remove, type Row } from './api';
import { useRecording, useWorld } from './context';
import { shell, timeOfDay } from './format';
import { useLoad } from './hooks';
import { Copy } from './parts';

export interface Run { id: string; state: 'starting' | 'running' | 'ended' | 'failed'; text: string; lost: number }
export interface RunSettings { where?: string; by?: string; hist?: string }

// take: with each record as it comes; reset: before the first, and when something else is to run.
export function useRun(what: string, settings: RunSettings, take: (record: Row) => void, reset: () => void) {
  const { report } = useWorld();
  const recording = useRecording();
  const [run, setRun] = useState<Run | null>(null);
  const end = useRef<() => void>(() => undefined);

  const stop = () => {
    end.current();
    end.current = () => undefined;
  };
  useEffect(() => stop, []);
  useEffect(() => {
    stop();
    setRun(null);
    reset();
  }, [what, recording?.id]);
  const start = async () => {
    stop();
    reset();
    setRun({ id: '', state: 'starting', text: '', lost: 0 });
    try {
      const body = Object.fromEntries(Object.entries({ what, ...settings }).filter(([, value]) => value));
      const made = await post<{ id: string }>('runs', { recording: recording?.id }, body);
      setRun({ id: made.id, state: 'running', text: '', lost: 0 });
      const close = follow({ what: `run:${made.id}` }, {
        record: take,
        lost: (lost) => {
          report(lost);
          setRun((old) => old && { ...old, lost: old.lost + lost });
        },
        ended: (reason) => setRun((old) => old && { ...old, state: 'ended', text: reason }),
      });
      end.current = () => {
        close();
        setRun((old) => old && (old.state === 'running' ? { ...old, state: 'ended', text: 'stopped' } : old));
        remove(`runs/${made.id}`).catch(() => undefined);
      };
    } catch (error) {
      setRun({ id: '', state: 'failed', text: (error as Error).message, lost: 0 });
    }
  };
  return { run, start, stop };
}

interface Saved {
  run: string; what: string; name: string; path: string; start_ns: number; running: boolean; error: string | null;
}

// Letters and digits of the host, the tool and the time: a name that is free.
function suggest(host: string | null, what: string): string {
  const now = new Date(), two = (n: number) => String(n).padStart(2, '0');
  const time = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}-${two(now.getHours())}`
    + `${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `${host ?? 'host'}-${what}-${time}`.replace(/[^\w.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '').slice(0, 64);
}

// What a running tool sees from now on, as a file for nest serve -f.
export function SaveRecording({ run, what }: { run: Run | null; what: string }) {
  const { about } = useWorld();
  const recording = useRecording();
  const [failed, setFailed] = useState('');
  const [busy, setBusy] = useState(false);
  const running = run?.state === 'running';
  const saved = useLoad(async (signal) => (about.saves && run?.id
    ? (await get<{ rows: Saved[] }>('saved', {}, signal)).rows.filter((row) => row.run === run.id).at(-1) ?? null
    : null), [run?.id, running], running ? 2000 : 0);
  const current = saved.data;
  if (recording || !about.live)
    return null;
  const act = async (action: () => Promise<unknown>) => {
    setBusy(true);
    setFailed('');
    await action().catch((error: Error) => setFailed(error.message));
    setBusy(false);
    saved.reload();
  };
  return (
    <>
      {current?.running
        ? <button type="button" disabled={busy} onClick={() => act(() => remove(`runs/${run!.id}/recording`))}>
          End recording</button>
        : <button type="button" disabled={!running || busy || !about.saves}
          title={about.saves ? 'Save what it sees from now on, for nest serve -f'
            : 'Start the server with a directory for recordings: nest serve --save-in DIR'}
          onClick={() => act(() => post(`runs/${run!.id}/recording`, {}, { name: suggest(about.host, what) }))}>
          Save as recording</button>}
      {!about.saves && running && <span class="quiet">Saving needs <code>nest serve --save-in DIR</code></span>}
      {failed && <span role="alert" class="lost">{failed}</span>}
      {current && <span role="status" class="saved">
        {current.running ? `recording to ${current.name} since ${timeOfDay(current.start_ns)}`
          : current.error ? `${current.name}: ${current.error}` : `saved: ${current.name}`}
        {!current.running && <Copy text={`nest serve -f ${shell(current.path)}`} label="Copy command" />}</span>}
    </>
  );
}
