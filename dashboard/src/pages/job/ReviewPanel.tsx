import { segment } from "../../api/client";
import type { JobView, Review } from "../../api/pages";
import { Decide } from "../reviews/Decide";
import { Proposal } from "../reviews/Proposal";
import { Ago } from "../../components/Time";

/** The question of a job in review, what it proposes, and the decision. */
export function ReviewPanel({ view, review }: { view: JobView; review: Review }) {
  const possible = view.actions_possible;
  return (
    <section class="card review-card" aria-labelledby="review">
      <div class="card-head"><h2 id="review">{review.question}</h2>{review.expires_at ? <span class="muted">{review.at_deadline ?? "ends"} <Ago at={review.expires_at} /></span> : null}</div>
      <Proposal output={review.output} before={review.before ?? null} />
      <Decide path={`/api/jobs/${segment(view.job.id)}`} output={review.output} deciders={review.deciders} may={possible.includes("approve") || possible.includes("reject")} keys />
    </section>
  );
}
