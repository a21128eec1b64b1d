import { useState } from "preact/hooks";
import { post, problemOf, remove, segment } from "../../api/client";
import type { Token } from "../../api/pages";
import { Code } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { ReasonDialog } from "../../components/ReasonDialog";
import { SelectField, TextField } from "../../components/TextField";
import { Ago } from "../../components/Time";
import { refresh } from "../../live/connection";
import { useLive } from "../../live/useLive";

/** Tokens for people and programs. Only hashes are stored: a token is shown once. */
export function TokensTab() {
  const [making, setMaking] = useState(false);
  const answer = useLive<Token[]>("/api/tokens");
  return (
    <div class="stack">
      <p><button type="button" class="primary" onClick={() => setMaking(true)}>New token</button></p>
      <Loaded answer={answer}>
        {(tokens) => (tokens.length ? (
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="Tokens">
            <table class="table">
              <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Tenant</th><th scope="col">Made</th><th scope="col">Last used</th><th scope="col">Ends</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
              <tbody>{tokens.map((token) => <Row key={token.id} token={token} />)}</tbody>
            </table>
          </div>
        ) : <Empty title="There is no token" code="mainstay token create ada --role operator"><p>A token gives a person or a program one role. Only its hash is stored.</p></Empty>)}
      </Loaded>
      {making ? <NewToken onClose={() => setMaking(false)} /> : null}
    </div>
  );
}

function Row({ token }: { token: Token }) {
  const [asked, setAsked] = useState(false);
  return (
    <tr data-row={token.id} tabIndex={-1}>
      <td class="name">{token.name}<span class="sub muted mono">{token.id}</span></td>
      <td>{token.role}</td>
      <td>{token.tenant ?? <span class="muted">all</span>}</td>
      <td><Ago at={token.created_at} /> <span class="muted">by {token.created_by}</span></td>
      <td>{token.last_used_at ? <Ago at={token.last_used_at} /> : <span class="muted">never</span>}</td>
      <td>{token.expires_at ? <Ago at={token.expires_at} /> : <span class="muted">never</span>}</td>
      <td class="actions"><button type="button" class="small" onClick={() => setAsked(true)}>Revoke…</button>{asked ? <ReasonDialog title={`Revoke ${token.name}`} button="Revoke" danger label={null} done={`${token.name} is revoked`} run={() => remove(`/api/tokens/${segment(token.id)}`)} onClose={() => setAsked(false)}><p>Requests with this token, and sessions made with it, are refused from now on.</p></ReasonDialog> : null}</td>
    </tr>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const [form, setForm] = useState({ name: "", role: "viewer", tenant: "", expires: "90d" });
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const create = async () => {
    try {
      const answer = await post<{ token: string }>("/api/tokens", { ...form, tenant: form.tenant || null, expires: form.expires || null });
      setMade(answer.token);
      void refresh();
    } catch (failure) {
      setError(problemOf(failure).detail || problemOf(failure).title);
    }
  };
  if (made !== null) return <Dialog title="The token" onClose={onClose}><p>Copy it now: it is shown this once. Only its hash is stored.</p><Code text={made} /><footer class="dialog-foot"><button type="button" class="primary" onClick={onClose}>I have copied it</button></footer></Dialog>;
  return (
    <Dialog title="New token" onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void create(); }}>
        <TextField first label="Name" value={form.name} onChange={change("name")} hint="Of the person or program; it appears in the audit trail" error={error} />
        <SelectField label="Role" value={form.role} options={["viewer", "operator", "admin"]} onChange={change("role")} hint="viewer sees, operator acts on jobs and pauses, admin changes rules and tokens" />
        <TextField label="Tenant" value={form.tenant} onChange={change("tenant")} hint="Empty: all tenants" />
        <TextField label="Valid for" value={form.expires} onChange={change("expires")} hint="A duration as 90d; empty: until it is revoked" />
        <footer class="dialog-foot"><button type="button" onClick={onClose}>Make none</button><button type="submit" class="primary" disabled={!form.name}>Create</button></footer>
      </form>
    </Dialog>
  );
}
