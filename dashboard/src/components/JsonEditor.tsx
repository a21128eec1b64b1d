import { useId } from "preact/hooks";
import { parsed } from "../format/json";

interface Props {
  label: string;
  value: string;
  onChange: (text: string) => void;
  error?: string | null | undefined;
  rows?: number;
  optional?: boolean;
}

/** JSON to edit, with what is wrong with it while it is typed. */
export function JsonEditor({ label, value, onChange, error, rows = 10, optional }: Props) {
  const id = useId();
  const found = parsed(value);
  const wrong = "error" in found && !(optional && !value.trim()) ? found.error : error;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} class="mono" rows={rows} spellcheck={false} value={value} aria-invalid={Boolean(wrong)} aria-describedby={`${id}-error`} onInput={(event) => onChange(event.currentTarget.value)} />
      <p class="field-error" id={`${id}-error`} aria-live="polite">{wrong ?? ""}</p>
    </div>
  );
}
