import { useState } from "preact/hooks";
import { post, problemOf } from "../../api/client";
import type { TypeRecord } from "../../api/pages";
import { JsonEditor } from "../../components/JsonEditor";
import { SchemaForm } from "../../components/SchemaForm";
import { TextField } from "../../components/TextField";
import { isObject, parsed, pretty } from "../../format/json";
import { ruleText } from "../../format/rules";
import { format } from "../../router/route";
import { go } from "../../router/location";
import { fields, read, type Read } from "../../schema/schema";
import { notify } from "../../state/notices";
import { optionsOf } from "./options";

const OPTIONS: [name: string, label: string, hint: string][] = [
  ["delay", "Start in", "A duration as 5m; empty: now"], ["priority", "Priority", "Higher runs first"], ["queue", "Queue", "Empty: as the type declares"], ["key", "Key", "A second job with the same key is not made"],
  ["tenant", "Tenant", ""], ["tags", "Tags", "With commas between"], ["timeout", "Time limit", "A duration as 2m"], ["attempts", "Attempts", "At most"],
];

/** What the form needs to know of a type. */
export type Target = Pick<TypeRecord, "name" | "schema" | "queue" | "effective">;

export function EnqueueForm({ type }: { type: Target }) {
  const form = fields(type.schema);
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries((form ?? []).map((field) => [field.name, field.initial])));
  const [json, setJson] = useState(form === null ? "{}" : null as string | null);
  const [options, setOptions] = useState<Record<string, string>>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async () => {
    const found = json === null ? read(form ?? [], values) : readJson(json);
    setErrors(found.errors);
    if (Object.keys(found.errors).length) return;
    try {
      const made = await post<{ id: string; created: boolean }>("/api/jobs", { type: type.name, args: found.args, ...optionsOf(options) });
      notify("done", made.created ? `${type.name} is enqueued` : "A job with this key existed already");
      go(format("job", made.id));
    } catch (failure) {
      setProblem(problemOf(failure).detail || problemOf(failure).title);
    }
  };
  const swap = () => setJson(json === null ? pretty(read(form ?? [], values).args) : null);
  return (
    <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
      {json === null ? <SchemaForm fields={form ?? []} values={values} errors={errors} onChange={setValues} /> : <JsonEditor label="Arguments as JSON" value={json} onChange={setJson} error={errors[""]} />}
      {form === null ? null : <p><button type="button" class="link" onClick={swap}>{json === null ? "Edit as JSON" : "Back to the form"}</button></p>}
      <details>
        <summary>Options {type.queue ? <span class="muted">queue {type.queue}, {ruleText("attempts", type.effective.attempts)} attempts, time limit {ruleText("timeout", type.effective.timeout)}</span> : null}</summary>
        <div class="form-grid">{OPTIONS.map(([name, label, hint]) => <TextField key={name} label={label} hint={hint} value={options[name] ?? ""} onChange={(value) => setOptions({ ...options, [name]: value })} />)}</div>
      </details>
      {problem ? <p class="field-error" role="alert">{problem}</p> : null}
      <footer class="dialog-foot"><button type="submit" class="primary">Enqueue</button></footer>
    </form>
  );
}

function readJson(text: string): Read {
  const found = parsed(text);
  if ("error" in found) return { args: {}, errors: { "": found.error } };
  return isObject(found.value) ? { args: found.value, errors: {} } : { args: {}, errors: { "": "Give an object: the arguments by name" } };
}
