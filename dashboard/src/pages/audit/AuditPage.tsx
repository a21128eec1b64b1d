import { useState } from "preact/hooks";
import { withQuery, relative } from "../../api/client";
import type { AuditPage as AuditAnswer } from "../../api/pages";
import type { Action } from "../../api/types";
import { Empty } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { TextField } from "../../components/TextField";
import { useLive } from "../../live/useLive";
import { route, setParams } from "../../router/location";
import { format } from "../../router/route";
import { AuditRow } from "./AuditRow";

/** Who did what, when and why; with the values before and after. */
export function AuditPage() {
  const { actor = "", action = "", job = "", before = "" } = route.value.params;
  const answer = useLive<AuditAnswer>(withQuery("/api/audit", { limit: 100, actor, action, job, before }));
  const filtered = Boolean(actor || action || job);
  const download = <a class="button" href={relative(withQuery("/api/audit.csv", { actor, action, job }))} download="audit.csv"><Icon name="download" />Export CSV</a>;
  return (
    <Page title="Audit" actions={download}>
      <Filters key={`${actor} ${action} ${job}`} actor={actor} action={action} job={job} />
      <Loaded answer={answer}>
        {(page) => (page.lines.length ? (
          <>
            <ul class="audit card flush" aria-label="Actions">{page.lines.map((each: Action, i) => <AuditRow key={each.number ?? i} line={each} />)}</ul>
            <div class="paging">
              {before ? <a class="button small" href={format("audit", null, { actor, action, job })}>Newest</a> : null}
              {page.before === null ? null : <a class="button small" href={format("audit", null, { actor, action, job, before: String(page.before) })}>Older</a>}
            </div>
          </>
        ) : <Empty title={filtered ? "No action matches" : "Nobody has done anything yet"}><p>{filtered ? "Leave out a filter to see more." : "Every retry, cancel, pause, override and decision is recorded here: who, when, from where, and what it was before."}</p></Empty>)}
      </Loaded>
    </Page>
  );
}

function Filters({ actor, action, job }: { actor: string; action: string; job: string }) {
  const [form, setForm] = useState({ actor, action, job });
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const apply = () => setParams({ actor: form.actor || null, action: form.action || null, job: form.job || null, before: null });
  return (
    <form class="filters" role="search" aria-label="Filter the audit trail" onSubmit={(event) => { event.preventDefault(); apply(); }}>
      <TextField label="Who" value={form.actor} onChange={change("actor")} placeholder="ada" />
      <TextField label="Action" value={form.action} onChange={change("action")} placeholder="retry" />
      <TextField label="Job" value={form.job} onChange={change("job")} placeholder="01J…" />
      <button type="submit">Filter</button>
      {actor || action || job ? <a class="button ghost" href={format("audit")}>Clear</a> : null}
    </form>
  );
}
