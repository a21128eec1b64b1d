import { post, segment } from "../../api/client";
import type { WebhookDelivery } from "../../api/webhooks";
import { JobLink } from "../../components/JobLink";
import { Loaded } from "../../components/Loaded";
import { Ago, Took } from "../../components/Time";
import { useLive } from "../../live/useLive";
import { act } from "../../state/notices";
import { may } from "../../state/session";

/** The last attempts to deliver to an endpoint, the newest first. */
export function Deliveries({ id }: { id: string }) {
  const answer = useLive<WebhookDelivery[]>(`/api/webhooks/${segment(id)}/deliveries`);
  return (
    <section class="card flush" aria-label={`Deliveries to ${id}`}>
      <div class="card-head"><h2>Deliveries to {id}</h2></div>
      <Loaded answer={answer}>
        {(found) => (found.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Deliveries as a table">
            <table class="table">
              <thead><tr><th scope="col">At</th><th scope="col">Message</th><th scope="col" class="num">Attempt</th><th scope="col">State</th><th scope="col" class="num">Took</th><th scope="col">Reply</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
              <tbody>{found.map((each, i) => <Row key={each.job + each.at} each={each} last={found.findIndex((other) => other.job === each.job) === i} />)}</tbody>
            </table>
          </div>
        ) : <p class="pad muted">Nothing was sent there yet.</p>)}
      </Loaded>
    </section>
  );
}

/** An attempt; one that failed and is the last of its message can be sent again: its job is retried. */
function Row({ each, last }: { each: WebhookDelivery; last: boolean }) {
  const failed = each.error !== null;
  const said = each.status === null ? each.error : (each.answer ?? each.error);
  const again = () => void act("The message is sent again", () => post(`/api/jobs/${each.job}/retry`));
  return (
    <tr data-row={each.job + each.at} tabIndex={-1}>
      <td><Ago at={each.at} /></td>
      <td><JobLink id={each.job} /></td>
      <td class="num">{each.attempt}</td>
      <td><span class={`tag ${failed ? "bad" : "good"}`}>{failed ? "failed" : "delivered"}</span> <span class="mono">{each.status ?? "–"}</span></td>
      <td class="num"><Took seconds={each.ms / 1000} /></td>
      <td class="clip" title={each.error ?? undefined}>{said ?? ""}</td>
      <td class="actions">{failed && last && may("operator") ? <button type="button" class="small" onClick={again}>Send again</button> : null}</td>
    </tr>
  );
}
