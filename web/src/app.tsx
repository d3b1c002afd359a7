// SPDX-License-Identifier: GPL-2.0-or-later
// The page of nest serve: opens the session, holds header, views, keys and what is said about the connection.
import { render, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, openSession, type About, type Recording } from './api';
import { recordingOf, useSpan, WorldContext, type World } from './context';
import { dateTime, duration, timeOfDay, whole } from './format';
import { useKeys, useLoad } from './hooks';
import { Fleet } from './fleet';
import { Flow } from './flow';
import { Now } from './now';
import { Drawer, ExplainDrawer, Failed, Loading } from './parts';
import { Path } from './path';
import { linkTo, useRoute } from './route';
import { Sides } from './sides';
import { Tables } from './tables';
import { applyTheme, nextTheme, themeChoice } from './theme';
import { Time } from './time';
import { Tools } from './tools';

// A view is a line here and a file. needs: what it shows; a server has the live host, recordings, function traces or
// the rows of a fleet.
interface View {
  name: string; title: string; view: ComponentType; needs: 'fleet' | 'samples' | 'events' | 'traces' | 'recordings';
}
const VIEWS: View[] = [
  { name: 'fleet', title: 'Fleet', view: Fleet, needs: 'fleet' },
  { name: 'now', title: 'Now', view: Now, needs: 'samples' },
  { name: 'time', title: 'Time', view: Time, needs: 'samples' },
  { name: 'tables', title: 'Tables', view: Tables, needs: 'samples' },
  { name: 'tools', title: 'Tools', view: Tools, needs: 'events' },
  { name: 'path', title: 'Path', view: Path, needs: 'events' },
  { name: 'flow', title: 'Flow', view: Flow, needs: 'traces' },
  { name: 'sides', title: 'Side by side', view: Sides, needs: 'recordings' },
];

// A recording of a tool has no samples, a function trace neither samples nor events.
function isThere(view: View, about: About, recording: Recording | null): boolean {
  switch (view.needs) {
  case 'fleet':
    return !!about.fleet;
  case 'samples':
    return recording ? recording.samples : about.live;
  case 'events':
    return about.live || about.recordings.length > 0;
  case 'recordings':
    return about.recordings.length > 0;
  case 'traces':
    return !about.fleet || about.traces.length > 0;
  }
}

// What to show first.
function firstView(about: About, recording: Recording | null): string {
  if (about.fleet)
    return 'fleet';
  if (recording ? recording.samples : about.live)
    return 'now';
  return recording?.tables.includes('journey') ? 'path' : recording ? 'tools' : 'flow';
}

const KEYS: [string, string][] = [
  ['1 to 8', 'the views, from left to right'], ['/', 'filter'], ['?', 'this list'],
  ['Esc', 'close, leave a field'],
  ['↑ ↓ PgUp PgDn Home End', 'move in a table'], ['Enter', 'open a row, accept a completion'],
  ['Tab', 'complete in the filter'], ['p', 'pause a table'], ['c', 'choose columns'],
  ['← →', 'move the span (Time)'], ['+ - 0', 'zoom in, out, whole time (Time)'],
  ['t', 'light, dark, as the system'],
];

function Help({ close }: { close: () => void }) {
  return (
    <Drawer title="Keys" close={close}>
      <dl class="facts">{KEYS.map(([key, what]) => <><dt><kbd>{key}</kbd></dt><dd>{what}</dd></>)}</dl>
      <p>The address holds view, filter and time: a link opens the same view.</p>
      <p>Filters are expressions over the fields of a table, the same as <code>--where</code>:{' '}
        <code>rport == 443 and srtt &gt; 10ms</code>, <code>comm ~ "nginx*"</code>.</p>
    </Drawer>
  );
}

function Header({ world, views, current, help }:
  { world: World; views: View[]; current: View; help: () => void }) {
  const { about, route, change } = world;
  const [theme, setTheme] = useState(themeChoice());
  const span = useSpan();
  const recording = recordingOf(about, route.args.rec);
  const sources = [...(about.live ? [{ id: 'live', name: 'live' }] : []),
    ...about.recordings.map((one) => ({ id: String(one.id), name: one.name }))];
  // Where the views do not fit, the current one is in sight.
  useEffect(() => {
    document.querySelector('.views [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current.name]);
  const choose = (id: string) =>
    change({ rec: id === 'live' ? null : id, from: null, to: null, at: null, a: null, b: null });
  return (
    <header class="top">
      <a class="brand" href="#/">nest</a>
      <span class="host" title={`nest ${about.version}`}>{recording ? recording.host : about.host ?? about.fleet}</span>
      {sources.length > 1
        ? <select aria-label="Live host or recording" value={recording ? String(recording.id) : 'live'}
          onChange={(event) => choose(event.currentTarget.value)}>
          {sources.map((source) => <option key={source.id} value={source.id}>{source.name}</option>)}
        </select>
        : sources.length === 1 && <span class={`tag${recording ? '' : ' live'}`}>
          {recording ? recording.name : 'live'}</span>}
      <nav class="views" aria-label="Views">
        {views.map((view) => (
          <a key={view.name} href={linkTo(view.name, '', {}, route)}
            aria-current={view === current ? 'page' : undefined}>{view.title}</a>))}
      </nav>
      {span && <span class="span-tag">{timeOfDay(span.from)} + {duration(span.to - span.from)}
        <button type="button" aria-label="Show the whole time"
          onClick={() => change({ from: null, to: null, at: null })}>✕</button></span>}
      <span class="grow" />
      <button type="button" onClick={() => setTheme(nextTheme())} aria-label={`Colours: ${theme}; change`}>
        {theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾'}<span class="wide-only"> {theme}</span></button>
      <button type="button" onClick={help} aria-label="Keys and help">?</button>
    </header>
  );
}

function Page({ about }: { about: About }) {
  const [route, change] = useRoute();
  const [word, setWord] = useState<string | null>(null);
  const [help, setHelp] = useState(false);
  const [lost, setLost] = useState(0);
  const world: World = { about, route, change, explain: setWord, report: (count) => setLost((sum) => sum + count) };
  const go: Record<string, () => void> = { '?': () => setHelp(true), t: () => { nextTheme(); } };
  const recording = recordingOf(about, route.args.rec);
  const views = VIEWS.filter((one) => isThere(one, about, recording));
  views.forEach((view, i) => {
    go[String(i + 1)] = () => { location.hash = linkTo(view.name, '', {}, route); };
  });
  useKeys(go, [route]);
  const view = views.find((one) => one.name === route.view)
    ?? views.find((one) => one.name === firstView(about, recording)) ?? views[0]!;
  useEffect(() => {
    const shown = recording?.name ?? about.host ?? about.fleet ?? about.traces[0]?.name ?? '';
    document.title = `${view.title}: ${shown}, nest`;
    window.scrollTo(0, 0);
    setWord(null);
  }, [view.name]);
  return (
    <WorldContext.Provider value={world}>
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault();
        document.getElementById('content')?.focus();
      }}>Skip to the content</a>
      <Header world={world} views={views} current={view} help={() => setHelp(true)} />
      {lost > 0 && <p class="banner" role="alert">This page was too slow: {whole(lost)} records are missing here;
        counts and distributions are lower than they should be.{' '}
        <button type="button" onClick={() => setLost(0)}>Dismiss</button></p>}
      {route.args.rec !== undefined && !recording && <p class="banner" role="alert">
        There is no recording {route.args.rec} on this server; the address may be from another one.</p>}
      {view.name !== route.view && VIEWS.some((one) => one.name === route.view) && <p class="banner info" role="status">
        {recording && !recording.samples ? `${recording.name} has events, but no samples of the host: it has no view `
          : 'This server has nothing for the view '}{VIEWS.find((one) => one.name === route.view)!.title}.</p>}
      <main id="content" tabIndex={-1} class={`view-${view.name}`}>
        <h1 class="only-read">{view.title}</h1>
        <view.view />
      </main>
      <footer class="bottom quiet">nest {about.version}{recording
        ? `, ${recording.name}: ${dateTime(recording.from_ns)} to ${timeOfDay(recording.to_ns)}` : ''}</footer>
      {word && <ExplainDrawer word={word} close={() => setWord(null)} />}
      {help && <Help close={() => setHelp(false)} />}
    </WorldContext.Provider>
  );
}

// Without a token nothing is shown: it is in the link that nest serve printed.
function SignIn({ problem, done }: { problem: string; done: () => void }) {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(problem);
  const submit = (event: Event) => {
    event.preventDefault();
    const pasted = /#token=([^&\s]+)/.exec(token)?.[1] ?? token.trim();
    openSession(pasted).then(done, (error: Error) => setWrong(error.message));
  };
  return (
    <main class="sign-in">
      <h1>nest</h1>
      <p>Open the link that <code>nest serve</code> printed, or paste it (or its token) here.</p>
      <form onSubmit={submit}>
        <input type="password" value={token} aria-label="Link or token" autocomplete="off"
          onInput={(event) => setToken(event.currentTarget.value)} />
        <button type="submit" class="primary" disabled={!token.trim()}>Open</button>
      </form>
      {wrong && <p role="alert" class="failed">{wrong}</p>}
    </main>
  );
}

function Root() {
  const about = useLoad(async (signal) => {
    const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
    if (token) {
      // Out of the address bar before anything else: it must not be in a link that is passed on.
      history.replaceState(null, '', location.pathname);
      await openSession(decodeURIComponent(token));
    }
    return get<About>('about', {}, signal);
  }, []);
  // A link that is opened where the page is already changes only the part behind the #.
  useEffect(() => {
    const changed = () => location.hash.startsWith('#token=') && about.reload();
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  if (about.error instanceof ApiError && (about.error.status === 401 || about.error.status === 403) && !about.data)
    return <SignIn problem={about.error.status === 403 ? about.error.message : ''} done={about.reload} />;
  if (about.error && !about.data)
    return <main><Failed error={about.error} retry={about.reload} /></main>;
  return about.data ? <Page about={about.data} /> : <main><Loading what="nest" /></main>;
}

applyTheme();
const root = document.getElementById('app')!;
root.textContent = '';
render(<Root />, root);
