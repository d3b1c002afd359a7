// SPDX-License-Identifier: GPL-2.0-or-later
// What every view needs to know: the host or recording that is looked at, the chosen span and moment, and the route.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { About, Params, Recording } from './api';
import { shell } from './format';
import type { Change, Route } from './route';

export interface World {
  about: About;
  route: Route;
  change: (change: Change, replace?: boolean) => void;
  explain: (word: string) => void;
  report: (lost: number) => void;
}

export const WorldContext = createContext<World | null>(null);

export function useWorld(): World {
  const world = useContext(WorldContext);
  if (!world)
    throw new Error('no world');
  return world;
}

export function recordingOf(about: About, id: string | undefined): Recording | null {
  if (id === undefined)
    return about.live ? null : about.recordings[0] ?? null;
  return about.recordings.find((recording) => String(recording.id) === id) ?? null;
}

// The recording that is looked at; null: the live host.
export function useRecording(): Recording | null {
  const { about, route } = useWorld();
  return recordingOf(about, route.args.rec);
}

export interface Span { from: number; to: number }

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}

// The chosen span in ns, or null for everything.
export function useSpan(): Span | null {
  const { route } = useWorld();
  const from = numberOf(route.args.from), to = numberOf(route.args.to);
  return from !== null && to !== null && from < to ? { from, to } : null;
}

// The moment that tables and diagnosis show: of a recording the chosen one, or the end of the span.
export function useMoment(): number | null {
  const { route } = useWorld();
  const recording = useRecording(), span = useSpan();
  if (!recording)
    return null;
  return numberOf(route.args.at) ?? span?.to ?? recording.to_ns;
}

// What a command line needs to look at the same: the recording, or the network namespace of the server.
export function usePlace(): string[] {
  const { about } = useWorld();
  const recording = useRecording();
  if (recording)
    return ['-f', shell(recording.name)];
  return about.netns ? ['-N', shell(about.netns)] : [];
}

// Parameters that choose what is looked at.
export function useSource(): Params {
  const recording = useRecording();
  return recording ? { recording: recording.id } : {};
}
