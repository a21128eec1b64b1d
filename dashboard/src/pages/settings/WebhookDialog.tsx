import { useState } from "preact/hooks";
import { post, problemOf } from "../../api/client";
import type { WebhookChange } from "../../api/webhooks";
import { Dialog } from "../../components/Dialog";
import { TextField } from "../../components/TextField";
import { refresh } from "../../live/connection";
import { MadeSecret } from "./MadeSecret";

/** Send events to an address; the secret that is made is shown once. */
export function WebhookDialog({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<WebhookChange | null>(null);
  return (
    <Dialog title={made ? `Webhook ${made.name}` : "New webhook"} onClose={onClose}>
      {made ? <MadeSecret secret={made.secret} does="Messages are signed" onClose={onClose} /> : <Form onMade={setMade} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ onMade, onClose }: { onMade: (made: WebhookChange) => void; onClose: () => void }) {
  const [form, setForm] = useState({ url: "", events: "*", id: "", secret: "", reason: "" });
  const [error, setError] = useState<string | null>(null);
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const create = async () => {
    try {
      onMade(await post<WebhookChange>("/api/webhooks", bodyOf(form)));
      void refresh();
    } catch (failure) {
      setError(problemOf(failure).detail || problemOf(failure).title);
    }
  };
  return (
    <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void create(); }}>
      <TextField first label="Address" value={form.url} onChange={change("url")} hint="That gets the messages, as https://example.com/hook" />
      <TextField label="Events" value={form.events} onChange={change("events")} hint="Patterns with commas between them, as order.*, invoice.paid" />
      <TextField label="Id" value={form.id} onChange={change("id")} hint="Empty: one is made" />
      <TextField type="password" label="Secret" value={form.secret} onChange={change("secret")} hint="Empty: one is made, and shown once. $NAME: a variable of the environment of the workers" />
      <TextField label="Reason" value={form.reason} onChange={change("reason")} hint="Optional. It is kept in the audit trail." />
      {error ? <p class="field-error" role="alert">{error}</p> : null}
      <footer class="dialog-foot"><button type="button" onClick={onClose}>Make none</button><button type="submit" class="primary" disabled={!form.url}>Add</button></footer>
    </form>
  );
}

function bodyOf(form: Record<"url" | "events" | "id" | "secret" | "reason", string>): object {
  const events = form.events.split(",").map((each) => each.trim()).filter(Boolean);
  return { url: form.url.trim(), events, id: form.id.trim() || null, secret: form.secret || null, reason: form.reason };
}
