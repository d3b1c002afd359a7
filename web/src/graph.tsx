// SPDX-License-Identifier: GPL-2.0-or-later
// The network stack trace as a picture: applications on the left, peers on the right, what lies between in layers.
import dagre from '@dagrejs/dagre';
import { curveBasis, line } from 'd3-shape';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Diagnosis, Module } from './api';
import { percent, whole } from './format';

export interface Node {
  id: string; layer: string; title: string; detail: string; state: string; members: string[];
  culprit: boolean; affected: boolean;
}
export interface Edge { from: string; to: string; label: string; blamed: boolean }

const NODE_W = 208, NODE_H = 46;
// More than this and a picture no longer helps: idle modules are left out first, then healthy ones.
const MANY = 36, MOST = 150;
// Shown only when they are to blame or affected: otherwise the picture is programs, connections, paths and peers.
const BACKGROUND = new Set(['host', 'route', 'neighbour', 'queue', 'interface', 'filter', 'resolver', 'tunnel']);

const collator = new Intl.Collator('en', { numeric: true });

const LIMITS: Record<string, string> = {
  application: 'application', send_buffer: 'send buffer', receiver_window: 'receive window',
  congestion_window: 'congestion window', local_queue: 'local queue',
};

function limitText(module: Module): string {
  if (!module.limited_by)
    return '';
  let best = '', most = 0.005;
  for (const [name, share] of Object.entries(module.limited_by))
    if (name !== 'nobody' && share > most) {
      best = name;
      most = share;
    }
  return best ? `limited by ${LIMITS[best] ?? best} ${percent(most)}` : '';
}

function isShown(module: Module, important: Set<string>, level: number): boolean {
  if (important.has(module.id))
    return true;
  if (BACKGROUND.has(module.layer) || module.id.startsWith('thread:'))
    return false;
  if (level === 0)
    return true;
  if (module.state === 'idle' || module.state === 'ignored' || module.state === 'unknown')
    return false;
  return level === 1 || module.state !== 'active';
}

// Connections of the same owners with the same things below them stand as one node, as do peers of one path.
function fold(modules: Module[], owners: Map<string, string[]>, important: Set<string>): Map<string, Module[]> {
  const groups = new Map<string, Module[]>();
  for (const module of modules) {
    const foldable = (module.layer === 'socket' || module.layer === 'peer') && !important.has(module.id);
    const key = foldable ? `fold:${module.layer} ${(owners.get(module.id) ?? []).join(' ')}>`
      + `${[...module.depends_on].sort().join(' ')}:${module.state}` : module.id;
    const group = groups.get(key);
    if (group)
      group.push(module);
    else
      groups.set(key, [module]);
  }
  return groups;
}

function ownersOf(modules: Module[]): Map<string, string[]> {
  const owners = new Map<string, string[]>();
  for (const module of modules)
    for (const below of module.depends_on) {
      const list = owners.get(below);
      if (list)
        list.push(module.id);
      else
        owners.set(below, [module.id]);
    }
  return owners;
}

// A connection is known by its local port and its peer.
function titleOf(module: Module): string {
  const ends = module.id.startsWith('conn:') ? /:(\d+)-(.+)$/.exec(module.name) : null;
  return ends ? `:${ends[1]} → ${ends[2]}` : module.name || module.id;
}

// all: also what neither waits nor is to blame, each on its own.
export function buildGraph(diagnosis: Diagnosis, all = false): { nodes: Node[]; edges: Edge[]; hidden: number } {
  const culprits = new Set(diagnosis.findings.map((finding) => finding.module));
  const affected = new Set(diagnosis.findings.flatMap((finding) => finding.affects ?? []));
  const owners = ownersOf(diagnosis.modules);
  const important = new Set([...culprits, ...affected]);
  for (const id of [...important])
    for (const owner of owners.get(id) ?? [])
      if (owner.startsWith('app:'))
        important.add(owner);
  let shown = diagnosis.modules, groups = new Map<string, Module[]>();
  if (all)
    groups = new Map(shown.map((module) => [module.id, [module]]));
  for (let level = 0; !all && level < 3; level++) {
    shown = diagnosis.modules.filter((module) => isShown(module, important, level));
    groups = fold(shown, owners, important);
    if (groups.size <= MANY)
      break;
  }
  const nodes: Node[] = [];
  const nodeOf = new Map<string, string>();
  const isImportant = (members: Module[]) => members.some((member) => important.has(member.id));
  // Still too many: what findings are about, then the largest groups.
  const kept = [...groups].sort(([, a], [, b]) =>
    Number(isImportant(b)) - Number(isImportant(a)) || b.length - a.length).slice(0, all ? MOST : MANY);
  for (const [key, members] of kept) {
    const first = members[0]!;
    members.forEach((member) => nodeOf.set(member.id, key));
    nodes.push({
      id: key, layer: first.layer, state: first.state, members: members.map((member) => member.id),
      title: members.length > 1 ? `${members.length} ${first.layer === 'peer' ? 'peers' : 'connections'}`
        : titleOf(first),
      detail: limitText(first), culprit: members.some((member) => culprits.has(member.id)),
      affected: members.some((member) => affected.has(member.id)),
    });
  }
  // One order, whatever the findings: a picture that jumps with every window is hard to read.
  nodes.sort((a, b) => collator.compare(a.id, b.id));
  return { nodes, edges: buildEdges(diagnosis, nodes, nodeOf), hidden: diagnosis.modules.length - nodeOf.size };
}

function buildEdges(diagnosis: Diagnosis, nodes: Node[], nodeOf: Map<string, string>): Edge[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = new Map<string, Edge>();
  for (const module of diagnosis.modules) {
    const from = nodeOf.get(module.id);
    for (const below of from ? module.depends_on : []) {
      const to = nodeOf.get(below);
      if (!from || !to || to === from)
        continue;
      const blamed = !!(byId.get(to)?.culprit && (byId.get(from)?.affected || byId.get(from)?.layer === 'application'));
      edges.set(`${from} ${to}`, { from, to, label: '', blamed });
    }
  }
  // Where a program's time goes is written on the edge to what it waits for.
  for (const program of diagnosis.time ?? []) {
    const from = nodeOf.get(program.module);
    for (const share of program.shares) {
      const to = share.on ? nodeOf.get(share.on) : undefined;
      if (!from || !to || share.share < 0.005 || from === to)
        continue;
      const key = `${from} ${to}`;
      const edge = edges.get(key) ?? { from, to, label: '', blamed: false };
      edge.label = `${percent(share.share)} ${share.what}`;
      edges.set(key, edge);
    }
  }
  return [...edges.values()];
}

function labelWidth(label: string): number {
  return label.length * 7 + 8;
}

function layout(nodes: Node[], edges: Edge[]) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 64, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes)
    graph.setNode(node.id, { width: NODE_W, height: NODE_H });
  for (const edge of edges)
    graph.setEdge(edge.from, edge.to,
      edge.label ? { width: labelWidth(edge.label), height: 16, labelpos: 'c' } : {});
  dagre.layout(graph);
  return graph;
}

const path = line<{ x: number; y: number }>().x((point) => point.x).y((point) => point.y).curve(curveBasis);

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function stateWord(node: Node): string {
  return node.state === 'waiting-ancestor' ? 'blocked' : node.state === 'ignored' ? 'idle' : node.state;
}

function detailOf(node: Node): string {
  return node.detail || (node.state === 'unknown' ? node.layer : `${node.layer}, ${stateWord(node)}`);
}

export function Graph({ diagnosis, chosen, choose, all, setAll }: {
  diagnosis: Diagnosis; chosen: string | null; choose: (id: string) => void; all: boolean;
  setAll: (is: boolean) => void;
}) {
  const built = useMemo(() => {
    const { nodes, edges, hidden } = buildGraph(diagnosis, all);
    return { nodes, edges, hidden, graph: layout(nodes, edges) };
  }, [diagnosis, all]);
  const size = built.graph.graph();
  const width = Math.max(1, size.width ?? 1), height = Math.max(1, size.height ?? 1);
  const scroller = useRef<HTMLDivElement>(null);
  const culprit = built.nodes.find((node) => node.culprit)?.id;
  // Where a picture is higher than its frame, the culprit is what to see first.
  useEffect(() => {
    const at = culprit ? built.graph.node(culprit) : null;
    const frame = scroller.current, picture = frame?.querySelector('svg');
    if (!at || !frame || !picture)
      return;
    const scale = picture.clientWidth / width;
    frame.scrollTop = at.y * scale - frame.clientHeight / 2;
    frame.scrollLeft = at.x * scale - frame.clientWidth / 2;
  }, [culprit, all]);
  if (built.nodes.length === 0)
    return <p class="quiet">No program of this host has a socket with traffic.</p>;
  return (
    <figure class="graph">
      <div class="graph-scroll" ref={scroller} tabIndex={0} role="region"
        aria-label="Graph of modules, applications to peers">
        <svg viewBox={`0 0 ${width} ${height}`} style={{ width: `${width}px`, minWidth: `${0.72 * width}px` }}>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9"
              markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0 8 4 0 8z" class="arrow" />
            </marker>
          </defs>
          {built.edges.map((edge) => {
            const at = built.graph.edge(edge.from, edge.to);
            return (
              <g key={`${edge.from} ${edge.to}`} class={`edge${edge.blamed ? ' blamed' : ''}`}>
                <path d={path(at.points) ?? ''} marker-end="url(#arrow)" />
                {edge.label && at.x !== undefined && <>
                  <rect x={at.x - labelWidth(edge.label) / 2} y={at.y! - 8} width={labelWidth(edge.label)}
                    height={16} />
                  <text x={at.x} y={at.y! + 4}>{edge.label}</text></>}
              </g>);
          })}
          {built.nodes.map((node) => {
            const at = built.graph.node(node.id);
            const is = `node ${node.state}${node.culprit ? ' culprit' : ''}${node.affected ? ' affected' : ''}`
              + (chosen && node.members.includes(chosen) ? ' chosen' : '');
            const open = () => choose(node.members[0]!);
            // The class is part of the key: Chromium keeps the old style of an element that is moved and changes its
            // class at the same time.
            const title = `${node.culprit ? '▶ ' : ''}${clip(node.title, 26)}`, detail = clip(detailOf(node), 34);
            return (
              <g key={`${node.id} ${is}`} class={is} transform={`translate(${at.x - NODE_W / 2} ${at.y - NODE_H / 2})`}
                role="button" tabIndex={0}
                onClick={open} onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && open()}>
                <rect width={NODE_W} height={NODE_H} rx="6" />
                <text x="10" y="19" class="node-title">{`${title} `}</text>
                <text x="10" y="36" class="node-detail">{detail}</text>
              </g>);
          })}
        </svg>
      </div>
      <figcaption>
        <span class="key culprit">culprit</span><span class="key affected">affected</span>
        <span class="key">edge: share of the program's time, and what it waits for</span>
        {(built.hidden > 0 || all) && <span>
          {built.hidden > 0 && `${whole(built.hidden)} other ${built.hidden === 1 ? 'module' : 'modules'} hidden `}
          <button type="button" class="link" onClick={() => setAll(!all)}>{all ? 'Show fewer' : 'Show all'}</button>
        </span>}
      </figcaption>
    </figure>
  );
}
