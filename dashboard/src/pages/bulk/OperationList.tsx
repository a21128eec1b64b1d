import type { Operation } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { useLive } from "../../live/useLive";
import { format } from "../../router/route";

export function OperationList() {
  const answer = useLive<Operation[]>("/api/bulk");
  return (
    <Page title="Bulk operations" crumb={{ name: "Jobs", href: "#/jobs" }}>
      <Loaded answer={answer}>
        {(operations) => (operations.length ? (
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="Operations">
            <table class="table">
              <thead><tr><th scope="col">Action</th><th scope="col">On</th><th scope="col">By</th><th scope="col">Started</th><th scope="col" class="num">Changed</th><th scope="col">State</th></tr></thead>
              <tbody>{operations.map((operation) => <Row key={operation.id} operation={operation} />)}</tbody>
            </table>
          </div>
        ) : <Empty title="No bulk operation yet" code={"mainstay retry 'state:dead type:send_email' --dry-run"}><p>Select jobs in a list, or all that match a search, and act on them. Each operation has its progress here, with stop and resume.</p></Empty>)}
      </Loaded>
    </Page>
  );
}

function Row({ operation }: { operation: Operation }) {
  return (
    <tr data-row={operation.id} tabIndex={-1}>
      <td><a href={format("bulk", operation.id)}>{operation.action}</a></td>
      <td class="mono clip">{operation.search ?? "a selection"}</td>
      <td>{operation.actor}</td>
      <td><Ago at={operation.at} /></td>
      <td class="num">{count(operation.changed)} <span class="muted">of {count(operation.matched)}</span></td>
      <td>{operation.state}</td>
    </tr>
  );
}
