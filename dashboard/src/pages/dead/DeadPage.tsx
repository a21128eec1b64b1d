import { withQuery } from "../../api/client";
import type { DeadGroup } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Segmented } from "../../components/Segmented";
import { useLive } from "../../live/useLive";
import { route, setParams } from "../../router/location";
import { DeadView } from "./DeadView";
import { GroupRow } from "./GroupRow";

/** Dead jobs by cause, or one cause. */
export function DeadPage() {
  const { id } = route.value;
  return id === null ? <Groups /> : <DeadView fingerprint={id} />;
}

function Groups() {
  const { show = "open" } = route.value.params;
  const answer = useLive<DeadGroup[]>(withQuery("/api/dead", { everything: show !== "open" ? true : null }));
  const filter = <Segmented label="Show" value={show} options={[{ value: "open", name: "Open" }, { value: "all", name: "All" }]} onChange={(value) => setParams({ show: value === "open" ? null : value })} />;
  return (
    <Page title="Dead jobs, by cause" actions={filter}>
      <Loaded answer={answer}>
        {(groups) => (groups.length ? (
          <ul class="row-list card flush" aria-label="Causes">{groups.map((group) => <GroupRow key={group.fingerprint ?? group.sample} group={group} />)}</ul>
        ) : <Empty title={show === "open" ? "No job has died of an open cause" : "No job has died"}><p>A job dies when its attempts are used up or its error is final. Jobs that died of the same error, at the same place in your code, appear here as one row.</p>{show === "open" ? <p><a href="#/dead?show=all">Show ignored and resolved causes too.</a></p> : null}</Empty>)}
      </Loaded>
    </Page>
  );
}
