// SPDX-License-Identifier: GPL-2.0-or-later
// The HTTP interface of nest serve: requests, errors as sentences, server-sent events that come back.

export interface Recording {
  id: number; name: string; host: string; from_ns: number; to_ns: number; samples: boolean; complete?: boolean;
  error?: string | null; tables: string[];
}
export interface TraceInfo { id: number; name: string }
export interface Unseen { what: string; why: string; lost?: string | null }
export interface About {
  version: string; host: string | null; netns?: string | null; live: boolean; saves: boolean; fleet?: string | null;
  start_ns: number; now_ns: number;
  recordings: Recording[]; traces: TraceInfo[]; not_seen?: Unseen[];
}
export interface Evidence { rule: string; cf: number; text: string | null }
export interface Finding {
  cause: string; layer: string; module: string; certainty: number; severity: string; because: string; advice: string;
  next: string[]; affects?: string[]; for?: Evidence[]; against?: Evidence[]; ambiguous_with?: string[];
  would_change?: string[]; over?: boolean; spent_in?: { text: string } | null;
}
export interface FindingSpan extends Finding { begin_ns: number; end_ns: number | null }
export interface Module {
  id: string; layer: string; name: string; state: string; depends_on: string[];
  limited_by?: Record<string, number> | null;
}
export interface Share {
  share: number; on: string | null; what: string; count: number | null; p50_ns: number | null; max_ns: number | null;
  rtt_ns: number | null;
}
export interface TimeOf { module: string; name: string; estimate?: boolean; shares: Share[] }
export interface Diagnosis {
  schema: string; host: string; netns: number; netns_name?: string | null; start_ns: number; window_ms: number;
  modules: Module[]; findings: Finding[]; healthy: boolean; lost: number; time?: TimeOf[]; not_seen?: Unseen[];
  baseline_s?: number;
}
export interface Field { name: string; kind: string; unit?: string | null; help?: string }
export interface TableInfo {
  name: string; record?: string; help: string; fields: Field[]; columns: string[];
  page?: boolean; sort?: string | null; id?: string[]; plots?: string[];
}
export type Row = Record<string, unknown>;
export interface Rows { rows: Row[]; total: number }
export interface Series { name: string; title: string; unit: string; values: (number | null)[] }
export interface Measures { step_ns: number; from_ns: number; series: Series[] }
export interface Completion {
  from: number; to: number; items: { text: string; help?: string | null }[];
  error: { error: string; at?: number } | null;
}
export interface Runnable {
  tool?: string; event?: string; value?: string | null; layer?: string; summary?: string; help?: string;
  available: boolean;
  reason: string | null; hook?: string | null; fields?: unknown;
}
export interface Explanation { word: string; kind: string; title: string; text: string; see: string[] }

// The server names kinds as nest explains them; here they say how a value is written.
const KINDS: Record<string, string> = {
  size: 'bytes', name: 'enum', address: 'addr', 'yes or no': 'bool', number: 'id', share: 'ratio',
};

// Sizes that an administrator types as they are: 1500.
const EXACT = /(^|_)(mtu|pmtu|mss|advmss)$/;

export function normalField(field: Field): Field {
  const unit = field.unit ?? null;
  if (EXACT.test(field.name))
    return { ...field, kind: 'id' };
  const kind = KINDS[field.kind] ?? (unit && field.kind === unit ? 'ratio' : field.kind);
  return { ...field, kind, unit: field.kind === 'share' ? '%' : unit };
}

export type Params = Record<string, string | number | null | undefined>;

// A request that was answered with a sentence, or not answered at all.
export class ApiError extends Error {
  constructor(message: string, readonly status: number, readonly at?: number) {
    super(message);
  }
}

export function query(params: Params): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined && value !== '')
      parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  return parts.length ? `?${parts.join('&')}` : '';
}

async function failure(reply: Response): Promise<ApiError> {
  try {
    const body = await reply.json();
    return new ApiError(body.error ?? `HTTP status ${reply.status}`, reply.status, body.at);
  } catch {
    return new ApiError(`nest serve answered with HTTP status ${reply.status}`, reply.status);
  }
}

async function request(method: string, path: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await fetch(path, { method, credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (error) {
    if ((error as Error).name === 'AbortError')
      throw error;
    throw new ApiError('nest serve does not answer', 0);
  }
  if (!reply.ok)
    throw await failure(reply);
  return reply;
}

export async function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const reply = await request('GET', `/api/v1/${path}${query(params)}`, { signal });
  return reply.json() as Promise<T>;
}

export async function post<T>(path: string, params: Params, body: unknown): Promise<T> {
  const reply = await request('POST', `/api/v1/${path}${query(params)}`, {
    body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' },
  });
  return reply.json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await request('DELETE', `/api/v1/${path}`, {});
}

// Exchanges the token for a cookie that scripts cannot read.
export async function openSession(token: string): Promise<void> {
  await request('POST', '/api/v1/session', { headers: { Authorization: `Bearer ${token}` } });
}

export interface StreamHandlers {
  record: (record: Row) => void;
  lost?: (count: number) => void;
  ended?: (reason: string) => void;
  connected?: (is: boolean) => void;
}

const RETRY_FIRST_MS = 1000, RETRY_MAX_MS = 10000;

// Follows a stream until the returned function is called; a connection that breaks is opened again.
export function follow(params: Params, handlers: StreamHandlers): () => void {
  let source: EventSource | null = null;
  let timer = 0, wait = RETRY_FIRST_MS, over = false;

  const parse = (text: string): Row | null => {
    try {
      return JSON.parse(text) as Row;
    } catch {
      return null;
    }
  };
  const open = () => {
    const current = new EventSource(`/api/v1/stream${query(params)}`);
    source = current;
    current.onopen = () => {
      wait = RETRY_FIRST_MS;
      handlers.connected?.(true);
    };
    current.onmessage = (event) => {
      const record = parse(event.data);
      if (record)
        handlers.record(record);
    };
    current.addEventListener('lost', (event) => {
      handlers.lost?.(Number(parse((event as MessageEvent).data)?.lost ?? 0));
    });
    current.addEventListener('end', (event) => {
      const body = parse((event as MessageEvent).data);
      over = true;
      current.close();
      handlers.ended?.(String(body?.reason ?? body?.error ?? 'ended'));
    });
    current.onerror = () => {
      if (over)
        return;
      handlers.connected?.(false);
      current.close();
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    };
  };
  open();
  return () => {
    over = true;
    window.clearTimeout(timer);
    source?.close();
  };
}
