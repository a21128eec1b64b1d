import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  error?: string | null;
  first?: boolean;
  placeholder?: string;
  type?: "text" | "password";
  list?: string[];
}

/** A labelled input, with a hint or an error below. */
export function TextField({ label, value, onChange, hint, error, first, placeholder, type = "text", list }: Props) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { if (first) input.current?.focus(); }, []); // a field that appears in an open dialog
  const shared = {
    ref: input, id, value, placeholder, autocomplete: "off" as const, spellcheck: false, "data-first": first || undefined, "aria-invalid": Boolean(error), "aria-describedby": `${id}-hint`,
    onInput: (event: Event) => onChange((event.target as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === "password" ? <input type="password" {...shared} /> : <input type="text" list={list ? `${id}-list` : undefined} {...shared} />}
      {list ? <datalist id={`${id}-list`}>{list.map((each) => <option key={each} value={each} />)}</datalist> : null}
      <p class={error ? "field-error" : "hint"} id={`${id}-hint`}>{error ?? hint ?? ""}</p>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
  hint?: string;
}

export function SelectField({ label, value, options, onChange, hint }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onInput={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => <option key={option} value={option}>{option || "–"}</option>)}
      </select>
      {hint ? <p class="hint">{hint}</p> : null}
    </div>
  );
}
