// SPDX-License-Identifier: GPL-2.0-or-later
// The calls of a sequence diagram: which belong together, which are folded, and what stands in which row.
import { duration } from './format';

type Texts = (string | null)[];

export interface SequenceDocument {
  title: string | null; note: string | null; left_out: number; lines: Texts; labels: Texts;
  kind: number[]; from: number[]; to: number[]; depth: number[]; times: number[]; folded: number[];
  start_ns: number[]; lat_ns: number[]; label: number[];
}

export const CALL = 0, RETURN = 1, LOOP = 2, LOOP_END = 3, GAP = 4, VALUE = 5, BOX = 6, BOX_END = 7;

// Beyond this many rows or lifelines a diagram begins folded.
const FIRST_ROWS = 2000, FIRST_LINES = 16;

export interface Frame { item: number; begin: number; end: number }
export interface Layout {
  rows: number[]; rowOf: Int32Array; frames: Frame[];
  used: number[]; // lifelines that are drawn
  slot: Int32Array; // of each lifeline among them; a folded one is at the one before it
}

export class Calls {
  readonly count: number;
  readonly match: Int32Array; // the end of what begins, and the other way round; -1: none
  readonly parent: Int32Array;
  readonly low: Int32Array; // of a frame: the lifelines of its content
  readonly high: Int32Array;
  readonly level: Int32Array; // of a frame: frames around it
  readonly inside: Float64Array; // calls inside, multiplied by the turns of loops
  readonly shut: Uint8Array;
  readonly deepest: number;

  constructor(readonly doc: SequenceDocument) {
    const n = this.count = doc.kind.length;
    this.match = new Int32Array(n).fill(-1);
    this.parent = new Int32Array(n).fill(-1);
    this.low = new Int32Array(n).fill(1 << 30);
    this.high = new Int32Array(n).fill(-1);
    this.level = new Int32Array(n);
    this.inside = new Float64Array(n);
    this.shut = new Uint8Array(n);
    this.link();
    this.extend();
    this.add();
    this.deepest = doc.depth.reduce((most, depth) => Math.max(most, depth + 1), 1);
  }

  private link(): void {
    const { kind, from, to } = this.doc;
    const open: number[] = [];
    for (let i = 0; i < this.count; i++) {
      const k = kind[i]!;
      this.parent[i] = open.length ? open[open.length - 1]! : -1;
      if (k === CALL || k === LOOP || k === BOX) {
        open.push(i);
      } else if (k === RETURN || k === LOOP_END || k === BOX_END) {
        // Ends the innermost call of that lifeline: two programs in one diagram return independently.
        let at = open.length - 1;
        while (k === RETURN && at > 0 && !(kind[open[at]!] === CALL && to[open[at]!] === from[i]))
          at--;
        const begin = open.splice(at, 1)[0];
        if (begin !== undefined) {
          this.match[begin] = i;
          this.match[i] = begin;
          this.parent[i] = this.parent[begin]!;
        }
      }
    }
  }

  private extend(): void {
    const { kind, from, to } = this.doc;
    const open: number[] = [];
    const widen = (frame: number, low: number, high: number) => {
      this.low[frame] = Math.min(this.low[frame]!, low);
      this.high[frame] = Math.max(this.high[frame]!, high);
    };
    for (let i = 0; i < this.count; i++) {
      const k = kind[i]!;
      if (k === LOOP || k === BOX) {
        this.level[i] = open.length;
        open.push(i);
      } else if (k === LOOP_END || k === BOX_END) {
        const frame = open.pop(), around = open[open.length - 1];
        if (frame !== undefined && around !== undefined)
          widen(around, this.low[frame]!, this.high[frame]!);
      } else if (open.length && k !== GAP) {
        widen(open[open.length - 1]!, Math.min(from[i]!, to[i]!), Math.max(from[i]!, to[i]!));
      }
    }
  }

  private add(): void {
    const { kind, times, folded } = this.doc;
    for (let i = 0; i < this.count; i++) {
      if (kind[i] === CALL)
        this.inside[i] = folded[i]!;
      const begin = this.match[i]! >= 0 && this.match[i]! < i ? this.match[i]! : -1;
      const around = begin >= 0 ? this.parent[begin]! : -1;
      if (around >= 0)
        this.inside[around]! += kind[begin] === CALL ? this.inside[begin]! + 1
          : this.inside[begin]! * (kind[begin] === LOOP ? times[begin]! : 1);
    }
  }

  isArrow(i: number): boolean {
    const k = this.doc.kind[i];
    return k === CALL || k === RETURN || k === VALUE;
  }

  canFold(i: number): boolean {
    return this.doc.kind[i] === CALL && this.match[i]! > i + 1;
  }

  label(i: number): string {
    return this.doc.labels[this.doc.label[i]!] ?? '';
  }

  words(i: number): string {
    const { kind, times, lat_ns: took, folded } = this.doc;
    switch (kind[i]) {
    case GAP:
      return `… ${duration(took[i]!)} without a call`;
    case LOOP:
      return `loop ${times[i]} times${took[i] ? `, ${duration(took[i]!)} in total` : ''}`;
    case BOX:
      return this.label(i);
    case CALL: case VALUE: {
      const hidden = this.shut[i] ? this.inside[i]! : folded[i]!;
      return `${this.shut[i] ? '▸ ' : ''}${this.label(i)}`
        + (hidden ? ` (+${hidden} ${hidden === 1 ? 'call' : 'calls'})` : '');
    }
    default:
      return '';
    }
  }

  // Folds calls from this depth on.
  foldTo(depth: number): void {
    for (let i = 0; i < this.count; i++)
      this.shut[i] = this.canFold(i) && this.doc.depth[i]! + 1 >= depth ? 1 : 0;
  }

  // Unfolds whatever is around an item.
  reveal(i: number): void {
    for (let at = this.parent[i]!; at >= 0; at = this.parent[at]!)
      this.shut[at] = 0;
  }

  // The depth that a large diagram begins with.
  firstDepth(): number {
    const { depth, from, to, lines } = this.doc;
    const rowsAt: number[] = [], linesAt: number[] = [];
    const first = new Int32Array(lines.length).fill(1 << 30);
    for (let i = 0; i < this.count; i++) {
      rowsAt[depth[i]!] = (rowsAt[depth[i]!] ?? 0) + 1;
      if (this.isArrow(i))
        for (const line of [from[i]!, to[i]!])
          first[line] = Math.min(first[line]!, depth[i]!);
    }
    first.forEach((at) => { linesAt[at] = (linesAt[at] ?? 0) + 1; });
    for (let at = 0, rows = 0, used = 0; at < rowsAt.length; at++) {
      rows += rowsAt[at] ?? 0;
      used += linesAt[at] ?? 0;
      if (rows > FIRST_ROWS || used > FIRST_LINES)
        return Math.max(1, at);
    }
    return this.deepest + 1;
  }

  // The rows outside folded calls; lifelines that only those have take no room.
  layout(): Layout {
    const { kind, from, to, lines } = this.doc;
    const rows: number[] = [], frames: Frame[] = [], used: number[] = [];
    const rowOf = new Int32Array(this.count).fill(-1), slot = new Int32Array(lines.length);
    const seen = new Uint8Array(lines.length);
    for (let i = 0; i < this.count; i++) {
      rowOf[i] = rows.length;
      rows.push(i);
      if (kind[i] === CALL && this.shut[i] && this.match[i]! > 0)
        i = this.match[i]!;
    }
    for (const i of rows) {
      const end = this.match[i]!;
      if ((kind[i] === LOOP || kind[i] === BOX) && end > 0)
        frames.push({ item: i, begin: rowOf[i]!, end: rowOf[end]! < 0 ? rows.length : rowOf[end]! });
      if (this.isArrow(i))
        seen[from[i]!] = seen[to[i]!] = 1;
    }
    for (let i = 0; i < seen.length; i++) {
      if (seen[i])
        used.push(i);
      slot[i] = Math.max(used.length - 1, 0);
    }
    return { rows, rowOf, frames, used, slot };
  }

  // Calls whose name has the text in it.
  find(text: string): number[] {
    const wanted = this.doc.labels.map((label) => (label ?? '').toLowerCase().includes(text.toLowerCase()));
    const hits: number[] = [];
    for (let i = 0; i < this.count; i++)
      if (this.doc.kind[i] === CALL && wanted[this.doc.label[i]!])
        hits.push(i);
    return hits;
  }
}
