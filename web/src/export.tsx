// SPDX-License-Identifier: GPL-2.0-or-later
// A page in a file: one document, shown by the same components as in the page of nest serve, with nothing to ask.
import { render, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SequenceDocument } from './calls';
import { Flame, type FlameDocument } from './flame';
import { setZone } from './format';
import { PathPicture, type PathDocument } from './journeys';
import { Failed } from './parts';
import { Report, type ReportDocument } from './report';
import { Sequence } from './sequence';
import { applyTheme, nextTheme, themeChoice } from './theme';

interface Titled { title?: string | null; note?: string | null }

function PathPage({ document: doc }: { document: PathDocument }) {
  const [chosen, choose] = useState(0);
  return <PathPicture document={doc} chosen={chosen} choose={choose} />;
}

function FlamePage({ document: doc }: { document: FlameDocument }) {
  return <>{doc.note && <p class="culprit-words">{doc.note}</p>}<Flame document={doc} /></>;
}

function SequencePage({ document: doc }: { document: SequenceDocument }) {
  return <>{doc.note && <p class="culprit-words">{doc.note}</p>}<Sequence document={doc} /></>;
}

// The name of a kind is the one that view/page.h is given. bare: the document has a heading of its own.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
const KINDS: Record<string, { title: string; bare?: boolean; component: ComponentType<{ document: any }> }> = {
  path: { title: 'nest path: where packets spent their time', component: PathPage },
  sequence: { title: 'nest flow diagram', component: SequencePage },
  flame: { title: 'nest flow diagram', component: FlamePage },
  report: { title: 'nest report', bare: true, component: Report },
};

function titleOf(kind: string, doc: Titled & Partial<ReportDocument>): string {
  const report = doc.report;
  return report ? `nest report: ${report.host || report.file || ''}` : doc.title || KINDS[kind]!.title;
}

function Export({ kind, doc }: { kind: string; doc: unknown }) {
  const { bare, component: Component } = KINDS[kind]!;
  const [theme, setTheme] = useState(themeChoice());
  const title = titleOf(kind, doc as Titled);
  useEffect(() => { document.title = title; }, [title]);
  return (
    <>
      <main id="content" class={`export export-${kind}`}>
        <div class="export-head">{!bare && <h1>{title}</h1>}<span class="grow" />
          <button type="button" class="theme" onClick={() => setTheme(nextTheme())}
            aria-label={`Colours: ${theme}; change`}>{theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾'}</button>
        </div>
        <Component document={doc} />
      </main>
      <footer class="bottom quiet">Written by nest. This file is complete: it asks for nothing else.</footer>
    </>
  );
}

applyTheme();
const root = document.getElementById('app')!, data = document.getElementById('data')!;
const kind = data.dataset.kind ?? '', zone = Number(data.dataset.zone);
root.textContent = '';
if (Number.isFinite(zone))
  setZone(zone);
if (KINDS[kind])
  render(<Export kind={kind} doc={JSON.parse(data.textContent ?? 'null')} />, root);
else
  render(<Failed error={new Error(`this file shows nothing that is known: ${kind}`)} />, root);
