// SPDX-License-Identifier: GPL-2.0-or-later
// Data that is loaded, kept while it is loaded again, and never shown for another question than the one asked.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Loaded<T> { data: T | null; error: Error | null; loading: boolean; reload: () => void }

// Loads again when a dependency changes, and every `every` ms when that is not 0: after a slow answer less often.
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: unknown[], every = 0): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: Error | null; loading: boolean }>(
    { data: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  const key = useRef<string>('');
  const asked = JSON.stringify(dependencies);

  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    if (key.current !== asked) {
      key.current = asked;
      setState((old) => ({ data: old.data, error: null, loading: true }));
    }
    const run = async () => {
      const begin = performance.now();
      try {
        const data = await load(abort.signal);
        if (!abort.signal.aborted)
          setState({ data, error: null, loading: false });
      } catch (error) {
        if (!abort.signal.aborted)
          setState((old) => ({ data: old.data, error: error as Error, loading: false }));
      }
      if (every && !abort.signal.aborted)
        timer = window.setTimeout(run, Math.max(every, 8 * (performance.now() - begin)));
    };
    run();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [asked, every, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

// The width of an element, also when the window changes.
export function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const attach = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (!element)
      return;
    setWidth(element.clientWidth);
    observer.current = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.current.observe(element);
  }, []);
  return [attach, width];
}

// Keys of a view; those typed into a field are the field's.
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>, dependencies: unknown[]): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && event.key !== 'Escape';
      if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
        return;
      const action = keys[event.key];
      if (action) {
        action(event);
        event.preventDefault();
      }
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, dependencies);
}
