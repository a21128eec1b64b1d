/** The search box: suggestions for the last word, and what is wrong with the search as an inline hint. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { get, withQuery } from "../api/client";
import type { Suggestion } from "../api/pages";
import { completed } from "../search/terms";
import { Icon } from "./Icon";

interface Props {
  value: string;
  hint: string | null;
  onSearch: (q: string) => void;
}

export function SearchBox({ value, hint, onSearch }: Props) {
  const [text, setText] = useState(value);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const found = useSuggestions(text, open);
  useEffect(() => setText(value), [value]);
  const search = (q: string) => { setOpen(false); onSearch(q.trim()); };
  const take = (suggestion: Suggestion) => {
    const next = completed(text, suggestion.text);
    setText(next);
    setChosen(-1);
    input.current?.focus();
    if (next.endsWith(" ")) search(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && open && found.length) { event.preventDefault(); setChosen((chosen + step + found.length + 1) % (found.length + 1)); }
    else if (event.key === "Tab" && open && found[Math.max(chosen, 0)] && text) { event.preventDefault(); take(found[Math.max(chosen, 0)]!); }
    else if (event.key === "Enter") { event.preventDefault(); const picked = open ? found[chosen] : undefined; if (picked) take(picked); else search(text); }
    else if (event.key === "Escape") { if (open) { event.stopPropagation(); setOpen(false); } else input.current?.blur(); }
  };
  return (
    <div class="search">
      <div class="search-box">
        <Icon name="search" />
        <input ref={input} id="search" type="text" role="combobox" aria-label="Search jobs" aria-expanded={open && found.length > 0} aria-controls={`${id}-list`} aria-autocomplete="list" aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined} aria-invalid={Boolean(hint)} aria-describedby={hint ? `${id}-hint` : undefined} placeholder="type:send_email state:dead args.user.id:42 error:&quot;timed out&quot;" autocomplete="off" spellcheck={false} value={text}
          onFocus={() => setOpen(true)} onBlur={() => setTimeout(() => setOpen(false), 150)} onInput={(event) => { setText(event.currentTarget.value); setOpen(true); setChosen(-1); }} onKeyDown={onKeyDown} />
        {text ? <button type="button" class="ghost square" aria-label="Clear the search" onClick={() => { setText(""); search(""); }}><Icon name="close" /></button> : <kbd title="Focus the search">/</kbd>}
      </div>
      <ul class="suggestions" id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden={!open || found.length === 0}>
        {found.map((each, i) => (
          <li key={each.text} id={`${id}-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(event) => { event.preventDefault(); take(each); }}>
            <code>{each.text}</code><span class="muted">{each.about}</span>
          </li>
        ))}
      </ul>
      {hint ? <p class="search-hint" id={`${id}-hint`} role="alert">{hint}</p> : null}
    </div>
  );
}

/** Ask for suggestions a moment after the last key. */
function useSuggestions(text: string, open: boolean): Suggestion[] {
  const [found, setFound] = useState<Suggestion[]>([]);
  useEffect(() => {
    if (!open) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      get<{ suggestions: Suggestion[] }>(withQuery("/api/jobs/suggest", { q: text }))
        .then((answer) => current && setFound(answer.suggestions.slice(0, 12)))
        .catch(() => current && setFound([])); // suggestions are a help only: the search itself reports errors
    }, 120);
    return () => { current = false; clearTimeout(timer); };
  }, [text, open]);
  return open ? found : [];
}
