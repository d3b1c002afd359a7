// SPDX-License-Identifier: GPL-2.0-or-later
// The filter bar: an expression with completion, and a caret under what is wrong with it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, type Completion, type Field } from './api';
import { useKeys } from './hooks';

const WAIT_MS = 120;

// Names that fit the word before the caret, for what the server has no table of.
function completeLocally(text: string, at: number, fields: Field[]): Completion {
  const from = at - (/[\w.]*$/.exec(text.slice(0, at))?.[0].length ?? 0);
  const word = text.slice(from, at).toLowerCase();
  return { from, to: at, error: null, items: fields.filter((field) => field.name.startsWith(word))
    .map((field) => ({ text: field.name, help: field.help })) };
}

// The server counts bytes of UTF-8.
function column(text: string, at: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, Math.max(0, at))).length;
}

export function FilterBar({ table, fields, value, set, error, example = 'rport == 443 and comm ~ "nginx*"' }: {
  table: string; fields?: Field[]; value: string; set: (where: string) => void; example?: string;
  error: { error: string; at?: number } | null;
}) {
  const [text, setText] = useState(value);
  const [offer, setOffer] = useState<Completion | null>(null);
  const [pick, setPick] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const asked = useRef(0);
  useEffect(() => setText(value), [value, table]);
  useKeys({ '/': () => input.current?.focus() }, []);

  const ask = (now: string) => {
    const turn = ++asked.current;
    window.setTimeout(async () => {
      if (turn !== asked.current)
        return;
      try {
        const at = input.current?.selectionStart ?? now.length;
        const answer = fields ? completeLocally(now, at, fields)
          : await get<Completion>('complete', { table, text: now, at });
        if (turn === asked.current && document.activeElement === input.current) {
          setOffer(answer);
          setPick(-1);
        }
      } catch {
        setOffer(null);
      }
    }, WAIT_MS);
  };
  const close = () => {
    asked.current++;
    setOffer(null);
    setPick(-1);
  };
  const commit = () => {
    close();
    set(text.trim());
  };
  const take = (index: number) => {
    const item = offer?.items[index];
    if (!offer || !item)
      return;
    const tail = text.slice(offer.to);
    const next = text.slice(0, offer.from) + item.text + (tail.startsWith(' ') ? tail : ` ${tail}`);
    const caret = offer.from + item.text.length + 1;
    close();
    setText(next);
    // At once, not with the next drawing: whoever types on types behind it.
    if (input.current) {
      input.current.value = next;
      input.current.focus();
      input.current.setSelectionRange(caret, caret);
    }
    ask(next);
  };
  const pressed = (event: KeyboardEvent) => {
    const items = offer?.items ?? [];
    if (event.key === 'ArrowDown' && items.length)
      setPick((pick + 1) % items.length);
    else if (event.key === 'ArrowUp' && items.length)
      setPick((pick <= 0 ? items.length : pick) - 1);
    else if (event.key === 'Tab' && items.length && !event.shiftKey)
      take(Math.max(0, pick));
    else if (event.key === 'Enter')
      pick >= 0 ? take(pick) : commit();
    else if (event.key === 'Escape')
      offer ? close() : input.current?.blur();
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  };
  const wrong = offer ? null : text.trim() === value ? error : null;
  // The caret stands under the field, or, where the field shows only a part of the text, under the text once more.
  const cut = !!wrong && !!input.current && input.current.scrollWidth > input.current.clientWidth;
  const listed = (offer?.items.length ?? 0) > 0;
  return (
    <div class="filter">
      <div class="filter-line">
        <input ref={input} type="text" value={text} spellcheck={false} autocomplete="off" aria-label="Filter expression"
          placeholder={`Filter, for example: ${example}   ( / )`}
          role="combobox" aria-expanded={listed} aria-controls="filter-offer" aria-autocomplete="list"
          aria-activedescendant={pick >= 0 ? `offer-${pick}` : undefined} aria-invalid={!!wrong}
          class={wrong ? 'wrong' : ''}
          onInput={(event) => { setText(event.currentTarget.value); ask(event.currentTarget.value); }}
          onFocus={() => ask(text)} onBlur={() => window.setTimeout(close, 150)} onKeyDown={pressed} />
        <button type="button" class="primary" onClick={commit}>Filter</button>
        {value && <button type="button" onClick={() => { setText(''); close(); set(''); }}>Clear</button>}
      </div>
      <ul class={`offer${listed ? '' : ' empty'}`} id="filter-offer" role="listbox" aria-label="Completions">
        {offer?.items.slice(0, 60).map((item, i) => (
          <li key={item.text} id={`offer-${i}`} role="option" aria-selected={i === pick}
            onPointerDown={(event) => { event.preventDefault(); take(i); }}>
            <code>{item.text}</code><span class="quiet">{item.help}</span>
          </li>))}
      </ul>
      {wrong && (
        <div class="filter-error" role="alert">
          {wrong.at !== undefined && <pre aria-hidden="true">
            {`${cut ? `${value}\n` : ''}${' '.repeat(column(value, wrong.at))}^`}</pre>}
          <p>{wrong.error}</p>
        </div>)}
    </div>
  );
}
