import type { Action, Json } from "../../api/types";
import { Diff } from "../../components/Diff";
import { JobLink } from "../../components/JobLink";
import { JsonTree } from "../../components/JsonTree";
import { Ago, Clock } from "../../components/Time";
import { shortId } from "../../format/ids";
import { actionOf, summaryOf } from "./summary";
import { format } from "../../router/route";

/** One action; opens to its details, as a difference where there is a before and an after. */
export function AuditRow({ line: each }: { line: Action }) {
  const { before, after, ...rest } = each.detail;
  return (
    <li data-row={String(each.number ?? each.at)} tabIndex={-1}>
      <details>
        <summary>
          <span class="audit-actor">{each.actor || "–"}</span>
          <strong class="audit-action">{actionOf(each)}</strong>
          {each.job ? <span class="mono">{shortId(each.job)}</span> : null}
          <span class="muted mono clip grow">{summaryOf(each.detail)}</span>
          <span class="muted nowrap"><Ago at={each.at} /></span>
        </summary>
        <div class="audit-body">
          <p>{each.job ? <>Job <JobLink id={each.job} /> · <a href={format("audit", null, { job: each.job })}>all of this job</a> · </> : null}<a href={format("audit", null, { actor: each.actor })}>all by {each.actor || "nobody"}</a> · <a href={format("audit", null, { action: actionOf(each) })}>all {actionOf(each)}</a> · <Clock at={each.at} /></p>
          {before !== undefined || after !== undefined ? <Diff before={(before ?? null) as Json} after={(after ?? null) as Json} /> : null}
          {Object.keys(rest).length ? <JsonTree name="Details" value={rest} /> : null}
        </div>
      </details>
    </li>
  );
}
