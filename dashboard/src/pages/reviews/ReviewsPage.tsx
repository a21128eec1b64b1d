import { useState } from "preact/hooks";
import { segment, withQuery } from "../../api/client";
import type { ReviewRow } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { JobLink } from "../../components/JobLink";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Ago } from "../../components/Time";
import { line } from "../../format/json";
import { useShortcuts } from "../../keyboard/shortcuts";
import { useLive } from "../../live/useLive";
import { route } from "../../router/location";
import { format } from "../../router/route";
import { Decide } from "./Decide";
import { Proposal } from "./Proposal";

const ASK = `from mainstay import Review

@app.job
def reply(mail: str) -> str:
    draft = write(mail)
    raise Review("Send this reply?", output=draft)`;

interface Answer {
  reviews: ReviewRow[];
  after: string | null;
}

/** Jobs that wait for a person: the question, what they propose, and the decision. */
export function ReviewsPage() {
  const { after = "" } = route.value.params;
  const answer = useLive<Answer>(withQuery("/api/reviews", { limit: 50, after }));
  return (
    <Page title="Reviews">
      <Loaded answer={answer}>{(data) => (data.reviews.length ? <Desk rows={data.reviews} after={data.after} /> : <Empty title="Nothing waits for a decision" code={ASK}><p>A handler asks a person with <code>Review</code>: the job stops here until somebody approves or rejects.</p></Empty>)}</Loaded>
    </Page>
  );
}

function Desk({ rows, after }: { rows: ReviewRow[]; after: string | null }) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [last, setLast] = useState(0);
  const found = rows.findIndex((row) => row.id === wanted);
  const at = found >= 0 ? found : Math.min(last, rows.length - 1); // the decided one is gone: the next takes its place
  const choose = (i: number) => {
    const row = rows[Math.min(Math.max(i, 0), rows.length - 1)];
    setWanted(row?.id ?? null);
    setLast(Math.max(i, 0));
  };
  useShortcuts({ j: () => choose(at + 1), k: () => choose(at - 1) });
  const current = rows[at]!;
  return (
    <div class="desk">
      <ul class="desk-list" aria-label="Reviews">
        {rows.map((row, i) => (
          <li key={row.id}>
            <button type="button" aria-current={i === at ? "true" : undefined} onClick={() => choose(i)}>
              <span class="desk-question">{row.question}</span>
              <span class="muted">{row.type} · <Ago at={row.asked_at} />{row.may_decide ? "" : " · others decide"}</span>
            </button>
          </li>
        ))}
        {after ? <li><a class="button small" href={format("reviews", null, { after })}>More</a></li> : null}
      </ul>
      <ReviewCard key={current.id} row={current} />
    </div>
  );
}

function ReviewCard({ row }: { row: ReviewRow }) {
  return (
    <section class="card review-card" aria-labelledby="review">
      <div class="card-head"><h2 id="review">{row.question}</h2></div>
      <p class="muted">{row.type} <JobLink id={row.id} /> asked <Ago at={row.asked_at} />{row.expires_at ? <> · {row.at_deadline ?? "ends"} <Ago at={row.expires_at} /></> : " · waits for ever"}{row.tenant ? ` · tenant ${row.tenant}` : ""}{row.deciders.length ? ` · to be decided by ${row.deciders.join(", ")}` : ""}</p>
      <p class="mono muted clip">{line(row.args, 300)}</p>
      <Proposal output={row.output} before={row.before} />
      <Decide path={`/api/jobs/${segment(row.id)}`} output={row.output} deciders={row.deciders} may={row.may_decide} keys />
    </section>
  );
}
