// SPDX-License-Identifier: GPL-2.0-or-later
// Now: the verdict, the graph behind it, the findings with their evidence, and where each program's time goes.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, follow, get, type Diagnosis, type Module, type TimeOf } from './api';
import { useMoment, useRecording, useSource, useWorld } from './context';
import { FindingCard } from './finding';
import { dateTime, duration, percent, whole } from './format';
import { Graph } from './graph';
import { useLoad } from './hooks';
import { MomentBar } from './moment';
import { Drawer, Empty, Failed, Loading } from './parts';
import { linkTo } from './route';

// The diagnosis as it comes: of the live host by the stream, of a recording at the chosen moment.
function useDiagnosis() {
  const { report } = useWorld();
  const source = useSource(), recording = useRecording(), at = useMoment();
  // The stream begins with the latest one.
  const loaded = useLoad(async (signal) => (recording
    ? get<Diagnosis>('diagnosis', { ...source, at }, signal) : null), [source, at]);
  const [live, setLive] = useState<Diagnosis | null>(null);
  const [connected, setConnected] = useState(true);
  const isLive = recording === null;
  useEffect(() => {
    setLive(null);
    setConnected(true);
    return isLive ? follow({ what: 'diagnosis' }, {
      record: (record) => setLive(record as unknown as Diagnosis), lost: report, connected: setConnected,
    }) : undefined;
  }, [isLive]);
  return { diagnosis: (isLive && live) || loaded.data, error: loaded.error, reload: loaded.reload, connected };
}

function Verdict({ diagnosis }: { diagnosis: Diagnosis }) {
  const connections = diagnosis.modules.filter((module) => module.id.startsWith('conn:')).length;
  const first = diagnosis.findings[0];
  const span = duration(diagnosis.window_ms * 1e6);
  const place = diagnosis.netns_name ? ` in ${diagnosis.netns_name}` : '';
  return (
    <section class={`verdict ${diagnosis.healthy || !first ? 'healthy' : first.severity}`} aria-live="polite">
      <h2>{first && !diagnosis.healthy ? `${first.cause}: ${first.because}` : 'No bottleneck found'}</h2>
      <p class="quiet">
        {connections === 1 ? '1 connection' : `${whole(connections)} connections`}{place}, {span} from{' '}
        {dateTime(diagnosis.start_ns)} on {diagnosis.host}
        {diagnosis.findings.length > 1 ? `, ${diagnosis.findings.length} findings` : ''}
        {diagnosis.lost > 0 ? `, ${whole(diagnosis.lost)} records lost` : ''}
      </p>
    </section>
  );
}

const WHAT_HELP: Record<string, string> = {
  cpu: 'on a CPU', 'cpu-wait': 'on a run queue', answer: 'waiting for the reply of a service',
  network: 'waiting for retransmissions or windows', connect: 'connecting', dns: 'waiting for a name server',
  'peer-reading': 'blocked in send: the peer does not read', idle: 'no work', other: 'disk, lock, timer, pipe, child',
};

// Several programs may have one name.
function nameOfProgram(time: TimeOf): string {
  const pid = /^app:(\d+)/.exec(time.module)?.[1];
  return pid && !time.name.includes(pid) ? `${time.name} (${pid})` : time.name;
}

function Times({ times }: { times: TimeOf[] }) {
  const busy = times.filter((time) => time.shares.length > 0)
    .map((time) => ({ time, idle: time.shares.find((share) => share.what === 'idle')?.share ?? 0 }))
    .sort((a, b) => a.idle - b.idle).slice(0, 8);
  if (busy.length === 0)
    return null;
  return (
    <section class="card">
      <h2>Where the time goes</h2>
      <div class="times">
        {busy.map(({ time }) => (
          <div class="time-row" key={time.module}>
            <span class="time-name">{nameOfProgram(time)}{time.estimate ? ' (estimate)' : ''}</span>
            <span class="time-bar" role="img" aria-label={time.shares
              .map((share) => `${share.what} ${percent(share.share)}${share.on ? ` on ${share.on}` : ''}`).join(', ')}>
              {time.shares.map((share, i) => (
                <span key={i} class={`what-${share.what}`} style={{ width: `${100 * share.share}%` }}
                  title={`${percent(share.share)} ${share.what}: ${WHAT_HELP[share.what] ?? ''}`
                    + `${share.on ? `, on ${share.on}` : ''}${share.p50_ns ? `, p50 ${duration(share.p50_ns)}` : ''}`}>
                  {share.share > 0.08 ? `${percent(share.share)} ${share.what}` : ''}
                </span>))}
            </span>
          </div>))}
      </div>
    </section>
  );
}

function ModuleDrawer({ module, diagnosis, close, choose }:
  { module: Module; diagnosis: Diagnosis; close: () => void; choose: (id: string) => void }) {
  const { route } = useWorld();
  const above = diagnosis.modules.filter((one) => one.depends_on.includes(module.id));
  const other = (id: string) => (
    <li key={id}><button type="button" class="link" onClick={() => choose(id)}><code>{id}</code></button></li>);
  const pid = /^app:(\d+)/.exec(module.id)?.[1];
  const remote = /^(?:path|peer|resolver):(.+?)(?::(\d+))?$/.exec(module.id);
  const device = /^(?:link|qdisc):([^:@ ]+)/.exec(module.id)?.[1];
  const ofDevice = device ? { where: `dev == "${device}"` } : null;
  const connection = /^conn:(.+):(\d+)-(.+):(\d+)$/.exec(module.id);
  const where = pid ? `pid == ${pid}`
    : connection ? `lport == ${connection[2]} and rport == ${connection[4]}`
      : remote && !module.id.startsWith('peer') ? `raddr == ${remote[1]}`
        : remote ? `raddr == ${remote[1]}${remote[2] ? ` and rport == ${remote[2]}` : ''}` : null;
  const findings = diagnosis.findings.filter(
    (finding) => finding.module === module.id || finding.affects?.includes(module.id));
  return (
    <Drawer title={module.name || module.id} close={close}>
      <dl class="facts">
        <dt>module</dt><dd><code>{module.id}</code></dd>
        <dt>layer</dt><dd>{module.layer}</dd>
        <dt>state</dt><dd>{module.state === 'waiting-ancestor' ? 'blocked' : module.state}</dd>
        {Object.entries(module.limited_by ?? {}).map(([name, share]) => (
          <><dt>limited by {name.replace(/_/g, ' ')}</dt><dd>{percent(share)}</dd></>))}
      </dl>
      {findings.map((finding) => (
        <p key={finding.cause}><strong>{finding.cause}</strong> {finding.because}</p>))}
      <p class="links">
        {where && <a class="button" href={linkTo('tables', 'connections', { where }, route)}>Connections</a>}
        {ofDevice && <>
          <a class="button" href={linkTo('tables', 'links', ofDevice, route)}>Link</a>
          <a class="button" href={linkTo('tables', 'qdisc', ofDevice, route)}>Queues</a>
          <a class="button" href={linkTo('tools', 'qdisclat', ofDevice, route)}>Queueing delay</a></>}
        {where && <a class="button" href={linkTo('tools', 'tcpretrans', { where }, route)}>Retransmissions</a>}
      </p>
      {module.depends_on.length > 0 && <>
        <h4>Depends on</h4><ul>{module.depends_on.map(other)}</ul></>}
      {above.length > 0 && <>
        <h4>Used by</h4>
        <ul>{above.slice(0, 20).map((one) => other(one.id))}</ul>
        {above.length > 20 && <p class="quiet">{whole(above.length - 20)} more.</p>}</>}
    </Drawer>
  );
}

export function Now() {
  const { route, change } = useWorld();
  const { diagnosis, error, reload, connected } = useDiagnosis();
  const chosen = route.args.module ?? null;
  const module = diagnosis?.modules.find((other) => other.id === chosen) ?? null;
  const choose = (id: string | null) => change({ module: id === chosen ? null : id }, true);
  if (!diagnosis) {
    const early = error instanceof ApiError && error.status === 404;
    return <>
      <MomentBar />
      {early ? <Empty title="No diagnosis yet">
        {error.message}. A diagnosis takes three windows of 1 s; it appears here by itself.</Empty>
        : error ? <Failed error={error} retry={reload} />
          : !connected ? <Failed error={new ApiError('nest serve does not answer', 0)} />
            : <Loading what="the diagnosis: the first one needs 3 s" />}
    </>;
  }
  return (
    <div class="now">
      <MomentBar />
      {!connected && <p class="banner" role="alert">
        Disconnected from nest serve: the picture is from {dateTime(diagnosis.start_ns)}. Trying again.</p>}
      <Verdict diagnosis={diagnosis} />
      <Graph diagnosis={diagnosis} chosen={chosen} choose={choose} all={route.args.all !== undefined}
        setAll={(is) => change({ all: is ? 1 : null }, true)} />
      {diagnosis.findings.length > 0 && (
        <section>
          <h2>Findings</h2>
          {diagnosis.findings.map((finding) => (
            <FindingCard key={`${finding.cause} ${finding.module}`} finding={finding}
              chosen={finding.module === chosen} choose={() => choose(finding.module)} />))}
        </section>)}
      <Times times={diagnosis.time ?? []} />
      {!!diagnosis.not_seen?.length && (
        <section class="card">
          <h2>Not seen</h2>
          <ul>{diagnosis.not_seen.map((unseen) => (
            <li key={unseen.what}><strong>{unseen.what}</strong>: {unseen.why}</li>))}</ul>
        </section>)}
      {module && <ModuleDrawer module={module} diagnosis={diagnosis} close={() => choose(null)} choose={choose} />}
    </div>
  );
}
