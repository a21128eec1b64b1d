/** The arguments of a job as a form made from the schema of its type. */
import { useId } from "preact/hooks";
import type { Field } from "../schema/schema";

interface Props {
  fields: Field[];
  values: Record<string, string>;
  errors: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}

export function SchemaForm({ fields, values, errors, onChange }: Props) {
  if (fields.length === 0) return <p class="muted">This type takes no arguments.</p>;
  return (
    <div class="form-grid">
      {fields.map((field) => (
        <FieldRow key={field.name} field={field} value={values[field.name] ?? ""} error={errors[field.name]} onChange={(value) => onChange({ ...values, [field.name]: value })} />
      ))}
    </div>
  );
}

interface RowProps {
  field: Field;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function FieldRow({ field, value, error, onChange }: RowProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        <code>{field.name}</code> {field.required ? <span class="muted">required</span> : null}
      </label>
      <Input id={id} field={field} value={value} error={error} onChange={onChange} />
      {field.about ? <p class="hint" id={`${id}-about`}>{field.about}</p> : null}
      {error ? <p class="field-error" id={`${id}-error`}>{error}</p> : null}
    </div>
  );
}

function Input({ id, field, value, error, onChange }: RowProps & { id: string }) {
  const shared = { id, value, "aria-invalid": Boolean(error), "aria-describedby": error ? `${id}-error` : field.about ? `${id}-about` : undefined };
  const onInput = (event: Event) => onChange((event.target as HTMLInputElement).value);
  if (field.kind === "boolean") return <Choice {...shared} options={["true", "false"]} empty={!field.required || value === ""} onInput={onInput} />;
  if (field.kind === "choice") return <Choice {...shared} options={field.choices.map((each) => JSON.stringify(each))} empty={!field.required || value === ""} onInput={onInput} />;
  if (field.kind === "json") return <textarea {...shared} class="mono" rows={4} spellcheck={false} placeholder="JSON" onInput={onInput} />;
  return <input {...shared} type="text" inputMode={field.kind === "text" ? "text" : "decimal"} autocomplete="off" spellcheck={false} onInput={onInput} />;
}

interface ChoiceProps {
  id: string;
  value: string;
  options: string[];
  empty: boolean;
  onInput: (event: Event) => void;
}

function Choice({ options, empty, ...shared }: ChoiceProps) {
  return (
    <select {...shared}>
      {empty ? <option value="">–</option> : null}
      {options.map((option) => <option key={option} value={option}>{option.replace(/^"|"$/g, "")}</option>)}
    </select>
  );
}
