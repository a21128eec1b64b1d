import { useState } from "preact/hooks";
import { problemOf, put, segment } from "../../api/client";
import type { ReceiverChange } from "../../api/events";
import { Code } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { SelectField, TextField } from "../../components/TextField";
import { refresh } from "../../live/connection";
import { useNames } from "../../live/useOnce";
import { MadeSecret } from "./MadeSecret";
import { unused } from "./unused";

const SCHEMES = ["standard", "github", "stripe", "hmac"];
const PUBLISHES = "publishes an event";
const CREATES = "creates a job";

interface Props {
  taken: string[];
  onClose: () => void;
}

/** Accept webhooks of another service; the secret that is made is shown once. */
export function ReceiverDialog({ taken, onClose }: Props) {
  const [made, setMade] = useState<ReceiverChange | null>(null);
  return (
    <Dialog title={made ? `Receiver ${made.name}` : "New receiver"} onClose={onClose}>
      {made ? <MadeSecret secret={made.secret} does="It signs them" onClose={onClose}><p>The sender posts its messages to this address:</p><Code text={made.url} /></MadeSecret> : <Form taken={taken} onMade={setMade} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ taken, onMade, onClose }: Props & { onMade: (made: ReceiverChange) => void }) {
  const [form, setForm] = useState({ name: "", scheme: SCHEMES[0]!, header: "", effect: PUBLISHES, event: "", type: "", secret: "", reason: "" });
  const [error, setError] = useState<string | null>(null);
  const types = useNames("types");
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const create = async () => {
    try {
      onMade(await put<ReceiverChange>(`/api/incoming/${segment(unused(form.name, taken))}`, bodyOf(form)));
      void refresh();
    } catch (failure) {
      setError(problemOf(failure).detail || problemOf(failure).title);
    }
  };
  return (
    <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void create(); }}>
      <TextField first label="Name" value={form.name} onChange={change("name")} hint="A part of its address: api/hooks/NAME" />
      <SelectField label="Scheme" value={form.scheme} options={SCHEMES} onChange={change("scheme")} hint="How the sender signs: standard is Standard Webhooks" />
      {form.scheme === "hmac" ? <TextField label="Header" value={form.header} onChange={change("header")} hint="That has the signature, as X-Signature" /> : null}
      <SelectField label="A message" value={form.effect} options={[PUBLISHES, CREATES]} onChange={change("effect")} />
      {form.effect === PUBLISHES
        ? <TextField label="Event" value={form.event} onChange={change("event")} hint="Its name; {data.type} stands for a value of the body" />
        : <TextField label="Type" value={form.type} list={types} onChange={change("type")} hint="Of the job; the body of the message is its arguments" />}
      <TextField type="password" label="Secret" value={form.secret} onChange={change("secret")} hint="Empty: one is made, and shown once. $NAME: a variable of the environment of the server" />
      <TextField label="Reason" value={form.reason} onChange={change("reason")} hint="Optional. It is kept in the audit trail." />
      {error ? <p class="field-error" role="alert">{error}</p> : null}
      <footer class="dialog-foot"><button type="button" onClick={onClose}>Make none</button><button type="submit" class="primary" disabled={!form.name}>Add</button></footer>
    </form>
  );
}

function bodyOf(form: Record<"scheme" | "header" | "effect" | "event" | "type" | "secret" | "reason", string>): object {
  const effect = form.effect === PUBLISHES ? { event: form.event.trim() } : { type: form.type.trim() };
  const header = form.scheme === "hmac" ? { header: form.header.trim() || null } : {};
  return { scheme: form.scheme, ...effect, ...header, secret: form.secret || null, reason: form.reason };
}
