// SPDX-License-Identifier: GPL-2.0-or-later
// Journeys of packets through the host: waterfalls of the slowest, the distribution of each stage, stages over time.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { duration, percent, timeOfDay, whole } from './format';
import { useKeys, useWidth } from './hooks';
import { Empty } from './parts';
import { useTheme } from './theme';

export interface JourneyStage {
  stage: string; at_ns: number; ns: number; cpu: number | null; kind: string; context: string | null;
  widest: boolean; gap: string | null;
}
export interface Journey {
  time_ns: number; total_ns: number; dir: string; title: string | null; words: string | null; hidden: string | null;
  stages: JourneyStage[];
}
export interface StageRow {
  stage: string; count: number | null; share: number | null; p50_ns: number | null; p90_ns: number | null;
  p99_ns: number | null; max_ns: number | null; tail_share: number | null; owner: boolean | null;
  hist: { lo: number; hi: number; count: number }[] | null;
}
export interface JourneyGroup {
  title: string | null; tail: string | null; owned: boolean; unseen: string | null; rows: StageRow[];
}
export interface StageMap {
  dir: string; stage: string; zero: boolean; first_ns: number; rows: number; most: number;
  column: number[]; row: number[]; count: number[];
}
export interface PathDocument {
  note: string | null; heading: string | null; journeys: number; ungrouped: number; slowest: Journey[];
  groups: JourneyGroup[]; begin_ns: number | null; column_ns: number; columns: number; maps: StageMap[];
  stages: { stage: string; help: string | null }[];
}

const KINDS: [string, string][] = [['wait', 'waiting'], ['hardirq', 'hard interrupt'], ['softirq', 'softirq'],
  ['process', 'process']];

function Waterfall({ journey, help }: { journey: Journey; help: Map<string, string> }) {
  const total = journey.total_ns || 1;
  return (
    <div class="waterfall">
      <p>{journey.title}, {timeOfDay(journey.time_ns, 3)}</p>
      {journey.words && <p class="culprit-words">{journey.words}</p>}
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Stages of the journey">
        <table class="plain">
          <thead><tr><th scope="col">Stage</th><th scope="col">At</th><th scope="col">Took</th>
            <th scope="col">CPU</th><th scope="col" class="left">Context</th>
            <th scope="col" class="left way-cell">Time</th></tr></thead>
          <tbody>
            {journey.stages.map((stage, i) => (
              <tr key={i} class={stage.widest ? 'widest' : ''}
                title={`${stage.gap ?? ''}\n${stage.stage}: ${help.get(stage.stage) ?? ''}`}>
                <th scope="row">{stage.stage}</th><td>+{duration(stage.at_ns)}</td><td>{duration(stage.ns)}</td>
                <td>{stage.cpu ?? '-'}</td><td class="left">{stage.context ?? '-'}</td>
                <td class="left way-cell"><span class="way" aria-hidden="true">
                  {stage.ns > 0 && <span class={`way-bar ${stage.kind}`} style={{
                    left: `${100 * stage.at_ns / total}%`, width: `${100 * stage.ns / total}%` }} />}
                </span></td>
              </tr>))}
          </tbody>
        </table>
      </div>
      {journey.hidden && <p class="quiet">{journey.hidden}</p>}
    </div>
  );
}

function widestOf(journey: Journey): string {
  return journey.stages.find((stage) => stage.widest)?.stage ?? '-';
}

function Slowest({ doc, chosen, choose, help }:
  { doc: PathDocument; chosen: number; choose: (index: number) => void; help: Map<string, string> }) {
  const at = Math.min(Math.max(0, chosen), doc.slowest.length - 1);
  const list = useRef<HTMLDivElement>(null);
  const go = (by: number) => {
    const next = at + by;
    if (!doc.slowest[next])
      return;
    choose(next);
    if (list.current?.contains(document.activeElement))
      (list.current.children[next] as HTMLElement).focus();
  };
  useKeys({ ArrowLeft: () => go(-1), ArrowRight: () => go(1) }, [at, doc.slowest.length]);
  return (
    <section class="card slowest">
      <h2>{doc.heading ?? 'Slowest journeys'}</h2>
      <div class="journey-list" ref={list} role="group" aria-label="Journeys, slowest first">
        {doc.slowest.map((journey, i) => (
          <button type="button" key={i} aria-pressed={i === at} onClick={() => choose(i)}>
            {duration(journey.total_ns)} {journey.dir} {widestOf(journey)}</button>))}
      </div>
      <Waterfall journey={doc.slowest[at]!} help={help} />
      <p class="quiet keys-line">{KINDS.map(([kind, name]) =>
        <span key={kind} class="way-key"><span class={kind} />{name}</span>)}
        {doc.slowest.length > 1 && <span>← → other journeys</span>}</p>
    </section>
  );
}

function Spread({ hist }: { hist: StageRow['hist'] }) {
  if (!hist?.length)
    return <>-</>;
  const most = Math.max(1, ...hist.map((slot) => slot.count));
  return (
    <span class="spread" role="img"
      aria-label={`${hist.length} ranges, most journeys from ${duration(hist.find((s) => s.count === most)!.lo)}`}>
      {hist.map((slot) => <i key={slot.lo} title={`${whole(slot.count)} from ${duration(slot.lo)}`}
        style={{ height: slot.count ? `${Math.max(8, 100 * slot.count / most)}%` : '1px' }} />)}
    </span>
  );
}

const say = (value: number | null, format: (value: number) => string) => (value === null ? '-' : format(value));

function Group({ group, help }: { group: JourneyGroup; help: Map<string, string> }) {
  return (
    <div class="stage-group">
      <h3>{group.title}</h3>
      {group.tail && <p class={group.owned ? 'culprit-words' : 'quiet'}>{group.tail}</p>}
      <div class="table-scroll" tabIndex={0} role="region" aria-label={`Stages: ${group.title ?? ''}`}>
        <table class="plain">
          <thead><tr><th scope="col">Stage</th><th scope="col">Journeys</th><th scope="col">Share</th>
            <th scope="col">p50</th><th scope="col">p90</th><th scope="col">p99</th><th scope="col">Max</th>
            <th scope="col">Tail share</th><th scope="col">Spread</th></tr></thead>
          <tbody>
            {group.rows.map((row) => (
              <tr key={row.stage} class={row.owner ? 'widest' : ''}>
                <th scope="row" title={help.get(row.stage) ?? 'the entire journey'}>{row.stage}</th>
                {row.count === null ? <td colSpan={8} class="left quiet">not visible on this kernel</td> : <>
                  <td>{whole(row.count)}</td><td>{say(row.share, percent)}</td><td>{say(row.p50_ns, duration)}</td>
                  <td>{say(row.p90_ns, duration)}</td><td>{say(row.p99_ns, duration)}</td>
                  <td>{say(row.max_ns, duration)}</td><td>{say(row.tail_share, percent)}</td>
                  <td><Spread hist={row.hist} /></td></>}
              </tr>))}
          </tbody>
        </table>
      </div>
      {group.unseen && <p class="quiet">{group.unseen}</p>}
    </div>
  );
}

const MAP_H = 58;

// The durations of a row of a map.
export function mapRow(map: StageMap, row: number): string {
  if (map.zero && row === 0)
    return '0 ns';
  const first = map.first_ns * 2 ** (row - (map.zero ? 1 : 0));
  return `${duration(first)} to ${duration(2 * first)}`;
}

function Map2d({ map, doc, tell }: { map: StageMap; doc: PathDocument; tell: (text: string) => void }) {
  const [attach, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const cells = useMemo(() =>
    new Map(map.column.map((column, i) => [column * 64 + map.row[i]!, map.count[i]!])), [map]);
  useEffect(() => {
    const target = canvas.current;
    if (!target || width === 0)
      return;
    const ratio = window.devicePixelRatio || 1;
    target.width = width * ratio;
    target.height = MAP_H * ratio;
    target.style.width = `${width}px`;
    target.style.height = `${MAP_H}px`;
    const draw = target.getContext('2d')!;
    draw.scale(ratio, ratio);
    draw.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim();
    const w = width / Math.max(1, doc.columns), h = MAP_H / Math.max(1, map.rows);
    map.column.forEach((column, i) => {
      draw.globalAlpha = 0.12 + 0.88 * Math.sqrt(map.count[i]! / Math.max(1, map.most));
      draw.fillRect(column * w, MAP_H - (map.row[i]! + 1) * h, Math.max(w, 1), h);
    });
  }, [map, width, theme, doc.columns]);
  const moved = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * doc.columns);
    const row = Math.floor((box.bottom - event.clientY) / box.height * map.rows);
    tell(`${map.dir} ${map.stage}, ${timeOfDay((doc.begin_ns ?? 0) + column * doc.column_ns, 3)}, `
      + `${mapRow(map, row)}: ${whole(cells.get(column * 64 + row) ?? 0)} journeys`);
  };
  const low = map.zero ? `0${map.rows > 1 ? `, ${duration(map.first_ns)}` : ''}` : duration(map.first_ns);
  const high = map.rows > (map.zero ? 1 : 0)
    ? duration(map.first_ns * 2 ** (map.rows - (map.zero ? 1 : 0))) : '';
  return (
    <div class="stage-map">
      <span class="stage-map-name"><strong>{map.dir} {map.stage}</strong>
        <span class="quiet">up to {whole(map.most)} per cell</span></span>
      <span class="stage-map-range quiet"><span>{high}</span><span>{low}</span></span>
      <div class="stage-map-canvas" ref={attach}>
        <canvas ref={canvas} role="img" onMouseMove={moved} onMouseLeave={() => tell('')}
          aria-label={`${map.dir} ${map.stage} over time: ${low} to ${high}, at most ${map.most} journeys per cell`} />
      </div>
    </div>
  );
}

function Maps({ doc }: { doc: PathDocument }) {
  const [said, setSaid] = useState('');
  const begin = doc.begin_ns ?? 0, length = doc.columns * doc.column_ns;
  return (
    <section class="card stage-maps">
      <h2>Over time <span class="quiet">right is later, up is slower, a stronger colour is more frequent</span></h2>
      {doc.maps.map((map) => <Map2d key={`${map.dir} ${map.stage}`} map={map} doc={doc} tell={setSaid} />)}
      <div class="stage-map-axis quiet" aria-hidden="true">
        {[0, 1, 2, 3, 4].map((i) =>
          <span key={i}>{timeOfDay(begin + length * i / 4, length < 20e9 ? 3 : 0)}</span>)}
      </div>
      <p class="quiet map-said">{said || 'Point at a cell to read it.'}</p>
    </section>
  );
}

export function PathPicture({ document: doc, chosen, choose }:
  { document: PathDocument; chosen: number; choose: (index: number) => void }) {
  const help = useMemo(() => new Map(doc.stages.map(({ stage, help: text }) => [stage, text ?? ''])), [doc.stages]);
  if (doc.slowest.length === 0)
    return <Empty title="No journeys">{doc.note}</Empty>;
  return (
    <div class="path-picture">
      <p class="quiet note">{doc.note}</p>
      <Slowest doc={doc} chosen={chosen} choose={choose} help={help} />
      <section class="card"><h2>Stages</h2>
        {doc.groups.map((group, i) => <Group key={i} group={group} help={help} />)}
        {doc.ungrouped > 0 && <p class="culprit-words">{whole(doc.ungrouped)} journeys of other groups are not
          shown.</p>}
      </section>
      {doc.maps.length > 0 && <Maps doc={doc} />}
    </div>
  );
}
