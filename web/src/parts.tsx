// SPDX-License-Identifier: GPL-2.0-or-later
// Small parts that the views share: states, copy buttons, severity, drawers.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, type Explanation } from './api';
import { useKeys, useLoad } from './hooks';
import { useWorld } from './context';
import { linkTo } from './route';

export function Loading({ what }: { what: string }) {
  return <div class="state" role="status"><span class="spinner" aria-hidden="true" />Loading {what}</div>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="state"><strong>{title}</strong>{children && <div>{children}</div>}</div>;
}

export function Failed({ error, retry }: { error: Error; retry?: () => void }) {
  const gone = error instanceof ApiError && error.status === 0;
  return (
    <div class="state failed" role="alert">
      <strong>{gone ? 'Disconnected' : 'Request failed'}</strong>
      <span>{error.message}{gone ? '. Is it still running?' : ''}</span>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

// Copies through the clipboard where the browser allows it (loopback, TLS), else through a selection.
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    const timer = done ? window.setTimeout(() => setDone(false), 1500) : 0;
    return () => window.clearTimeout(timer);
  }, [done]);
  const copy = () => copyText(text).then(() => setDone(true), () => setDone(false));
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`${label}: ${text}`}>
      {done ? 'Copied' : label}
    </button>
  );
}

export function Command({ line }: { line: string }) {
  return <div class="command"><code>{line}</code><Copy text={line} /></div>;
}

const MARKS: Record<string, string> = { critical: '!!', high: '!!', medium: '!', low: '·', info: 'i' };

export function Severity({ level }: { level: string }) {
  return <span class={`severity ${level}`}><span aria-hidden="true">{MARKS[level] ?? '·'}</span> {level}</span>;
}

export function Term({ word }: { word: string }) {
  const { explain } = useWorld();
  return (
    <button type="button" class="term" onClick={() => explain(word)} title={`Explain ${word}`}>{word}</button>
  );
}

// A panel at the side that takes the focus, and gives it back when it closes.
export function Drawer({ title, close, children }:
  { title: string; close: () => void; children: ComponentChildren }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    panel.current?.focus({ preventScroll: true });
    return () => before?.focus?.({ preventScroll: true });
  }, []);
  useKeys({ Escape: close }, [close]);
  return (
    <aside class="drawer" ref={panel} tabIndex={-1} aria-label={title}>
      <header><h2>{title}</h2><button type="button" onClick={close} aria-label="Close (Esc)">✕</button></header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}

// The page of nest explain, beside whatever is looked at.
export function ExplainDrawer({ word, close }: { word: string; close: () => void }) {
  const { explain } = useWorld();
  const page = useLoad((signal) => get<Explanation>(`explain/${encodeURIComponent(word)}`, {}, signal), [word]);
  return (
    <Drawer title={word} close={close}>
      {page.error ? <Failed error={page.error} retry={page.reload} />
        : !page.data ? <Loading what={word} />
          : <>
            <p class="quiet">{page.data.kind}{page.data.title ? `: ${page.data.title}` : ''}</p>
            <pre class="prose">{page.data.text}</pre>
            {page.data.see?.length > 0 && (
              <p>See {page.data.see.map((other) => (
                <button type="button" class="term" key={other} onClick={() => explain(other)}>{other}</button>))}
              </p>)}
            <Command line={`nest explain ${word}`} />
          </>}
    </Drawer>
  );
}

// A command of nest as a way to the same thing in this page, where there is one.
export function commandLink(line: string, from: Parameters<typeof linkTo>[3]): string | null {
  const found = /^nest (?:trace )?([a-z][\w.]*)(.*)$/.exec(line);
  if (!found)
    return null;
  const where = /--where '([^']*)'|--where "([^"]*)"|--where (\S+)/.exec(found[2] ?? '');
  const args: Record<string, string> = {};
  const expression = where?.[1] ?? where?.[2] ?? where?.[3];
  const pid = /(?:^| )-p (\d+)/.exec(found[2] ?? '')?.[1];
  const device = /(?:^| )-i ([\w.@-]+)/.exec(found[2] ?? '')?.[1];
  const terms = [expression, pid && `pid == ${pid}`, device && `dev == "${device}"`].filter((term) => !!term);
  if (terms.length > 0)
    args.where = terms.join(' and ');
  switch (found[1]) {
  case 'sockets': case 'links': case 'counters': case 'routes': case 'limits':
    return linkTo('tables', found[1], args, from);
  case 'tables': {
    const name = /^ (\w+)/.exec(found[2] ?? '');
    return name ? linkTo('tables', name[1]!, args, from) : null;
  }
  case 'path':
    return linkTo('path', '', args, from);
  case 'explain': case 'diagnose': case 'watch': case 'flow': case 'record': case 'report': case 'sql': case 'top':
  case 'rules': case 'doctor': case 'hardware': case 'oops':
    return null;
  default:
    return linkTo('tools', found[1]!, args, from);
  }
}
