// SPDX-License-Identifier: GPL-2.0-or-later
// A finding: headline, evidence, advice, and where to look next.
import type { Evidence, Finding } from './api';
import { useWorld } from './context';
import { Copy, Severity, Term, commandLink } from './parts';

// Commands stand in backquotes.
function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((piece, i) => (i % 2 ? <code key={i}>{piece}</code> : piece))}</>;
}

// said: the sentence above it, which is not repeated.
function EvidenceList({ title, evidence, said }:
  { title: string; evidence: Evidence[] | undefined; said?: string }) {
  if (!evidence?.length)
    return null;
  return (
    <div class="evidence">
      <h4>{title}</h4>
      <ul>
        {evidence.map((item) => (
          <li key={item.rule}>
            <span class="factor" title="certainty factor of the rule">{item.cf.toFixed(2)}</span>
            <span><Term word={item.rule} />{item.text && item.text !== said ? ` ${item.text}` : ''}</span>
          </li>))}
      </ul>
    </div>
  );
}

function Next({ line }: { line: string }) {
  const { route } = useWorld();
  const link = commandLink(line, route);
  return (
    <li class="command">
      <code>{line}</code>
      {link && <a class="button" href={link}>Open</a>}
      <Copy text={line} />
    </li>
  );
}

export function FindingCard({ finding, chosen, choose, children }: {
  finding: Finding; chosen?: boolean; choose?: () => void; children?: preact.ComponentChildren;
}) {
  return (
    <article class={`finding ${finding.severity}${chosen ? ' chosen' : ''}${finding.over ? ' over' : ''}`}>
      <header>
        <h3><Term word={finding.cause} /></h3>
        <Severity level={finding.severity} />
        <span class="certainty" title={`certainty ${finding.certainty.toFixed(2)}`}>
          <meter min={0} max={1} value={finding.certainty} aria-label="certainty" />
          certainty {finding.certainty.toFixed(2)}
        </span>
        {finding.over && <span class="tag">over</span>}
        {choose && (
          <button type="button" class="module" onClick={choose} aria-pressed={!!chosen}
            title="Mark it in the graph">{finding.module}</button>)}
        {!choose && <code class="module">{finding.module}</code>}
      </header>
      <p class="because">{finding.because}</p>
      {finding.spent_in?.text && <p>Inside: {finding.spent_in.text}</p>}
      {children}
      <EvidenceList title="Evidence" evidence={finding.for} said={finding.because} />
      <EvidenceList title="Evidence against" evidence={finding.against} />
      {!!finding.ambiguous_with?.length && (
        <p>Could also be: {finding.ambiguous_with.map((cause) => <Term key={cause} word={cause} />)}</p>)}
      {finding.advice && <p class="advice"><strong>Advice</strong> <Prose text={finding.advice} /></p>}
      {finding.next?.length > 0 && (
        <div class="evidence">
          <h4>Next</h4>
          <ul class="next">{finding.next.map((line) => <Next key={line} line={line} />)}</ul>
        </div>)}
      {!!finding.would_change?.length && (
        <details>
          <summary>What would change the verdict</summary>
          <ul>{finding.would_change.map((text) => <li key={text}>{text}</li>)}</ul>
        </details>)}
    </article>
  );
}
