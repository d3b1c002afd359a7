// SPDX-License-Identifier: GPL-2.0-or-later
// The address bar holds the whole view: #/VIEW/PART?name=value, so that a link shows what its sender saw.
import { useEffect, useState } from 'preact/hooks';
import { query, type Params } from './api';

export interface Route { view: string; part: string; args: Record<string, string> }

// A link may have been cut or mistyped.
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parseRoute(hash: string): Route {
  const [path, rest] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view, ...part] = (path ?? '').split('/');
  const args: Record<string, string> = {};
  new URLSearchParams(rest ?? '').forEach((value, name) => {
    args[name] = value;
  });
  return { view: view ?? '', part: decode(part.join('/')), args };
}

export function formatRoute(route: Route): string {
  const part = route.part ? `/${encodeURIComponent(route.part)}` : '';
  return `#/${route.view}${part}${query(route.args as Params)}`;
}

// What holds in every view: which recording, which span, which moment.
const SHARED = ['rec', 'from', 'to', 'at'];

export function linkTo(view: string, part: string, args: Record<string, string>, from: Route): string {
  const shared: Record<string, string> = {};
  for (const name of SHARED)
    if (from.args[name] !== undefined)
      shared[name] = from.args[name]!;
  return formatRoute({ view, part, args: { ...shared, ...args } });
}

export type Change = Record<string, string | number | null | undefined>;

// The route, and a function that changes some of its arguments (null removes one).
export function useRoute(): [Route, (change: Change, replace?: boolean) => void] {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(location.hash));
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  const change = (wanted: Change, replace = false) => {
    const current = parseRoute(location.hash);
    const args = { ...current.args };
    for (const [name, value] of Object.entries(wanted))
      if (value === null || value === undefined || value === '')
        delete args[name];
      else
        args[name] = String(value);
    const hash = formatRoute({ ...current, args });
    if (replace)
      history.replaceState(null, '', hash);
    else
      history.pushState(null, '', hash);
    setRoute(parseRoute(hash));
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  };
  return [route, change];
}
