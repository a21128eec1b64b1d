import { useState } from "preact/hooks";
import { withQuery } from "../../api/client";
import type { Facets as FacetsAnswer, JobPage as JobPageAnswer } from "../../api/pages";
import { Icon } from "../../components/Icon";
import { Page } from "../../components/Page";
import { ProblemPanel } from "../../components/ProblemPanel";
import { SearchBox } from "../../components/SearchBox";
import { Skeleton } from "../../components/Loaded";
import { useLive } from "../../live/useLive";
import { route, setParams } from "../../router/location";
import { format } from "../../router/route";
import { compact } from "../../state/preferences";
import { BulkBar } from "./BulkBar";
import { Facets } from "./Facets";
import { JobList } from "./JobList";
import { NoJobs } from "./NoJobs";
import { SavedViews } from "./SavedViews";
import { useJobRows } from "./useJobRows";
import { useSelection } from "./useSelection";

const PAGE = 50;
const MOST = 200;

/** Search, facets, rows, and actions on the selection or on all that match. */
export function JobsPage() {
  const { q = "", after = "", limit = String(PAGE) } = route.value.params;
  const answer = useLive<JobPageAnswer>(withQuery("/api/jobs", { q, limit, after }));
  const facets = useLive<FacetsAnswer>(withQuery("/api/jobs/facets", { q }));
  const rows = useJobRows(answer, `${q} ${after} ${limit}`);
  const selection = useSelection(rows.jobs.map((job) => job.id));
  const [rail, setRail] = useState(false);
  const search = (next: string) => setParams({ q: next || null, after: null, limit: null });
  const usage = answer.problem?.status === 400 || answer.problem?.status === 422;
  return (
    <Page title="Jobs" hidden>
      <div class={`jobs ${compact.value ? "compact" : ""}`}>
        <aside class={`rail ${rail ? "open" : ""}`} aria-label="Filters"><Facets facets={facets.data} q={q} onSearch={search} /></aside>
        <div class="jobs-main">
          <div class="jobs-tools">
            <button type="button" class="rail-button" aria-expanded={rail} onClick={() => setRail(!rail)}><Icon name="menu" />Filters</button>
            <SearchBox value={q} hint={usage ? (answer.problem?.detail ?? null) : null} onSearch={search} />
            <SavedViews q={q} onSearch={search} />
            <button type="button" class="ghost square hide-phone" aria-pressed={compact.value} aria-label="Compact rows" title="Compact rows" onClick={() => { compact.value = !compact.value; }}><Icon name="rows" /></button>
          </div>
          {answer.problem && !usage ? <ProblemPanel problem={answer.problem} /> : null}
          <BulkBar q={q} jobs={rows.jobs} selection={selection} />
          <Fresh fresh={rows.fresh} gone={rows.gone.size} onShow={rows.show} />
          {!rows.loaded && !answer.problem ? <Skeleton /> : null}
          {rows.loaded && rows.jobs.length === 0 ? <NoJobs q={q} onSearch={search} /> : <JobList jobs={rows.jobs} gone={rows.gone} selection={selection} />}
          <Paging answer={answer.data} shown={rows.jobs.length} limit={Number(limit)} after={after} />
        </div>
      </div>
    </Page>
  );
}

/** New rows wait here until somebody wants them, so that nothing moves while it is read. */
function Fresh({ fresh, gone, onShow }: { fresh: number; gone: number; onShow: () => void }) {
  return (
    <div class="fresh" role="status" aria-live="polite">
      {fresh || gone ? (
        <button type="button" onClick={onShow}>
          {fresh ? <><Icon name="up" />{fresh} new</> : null}
          {gone ? <span class="muted">{fresh ? " · " : ""}{gone} no longer match</span> : null}
        </button>
      ) : null}
    </div>
  );
}

function Paging({ answer, shown, limit, after }: { answer: JobPageAnswer | undefined; shown: number; limit: number; after: string }) {
  const { q = "" } = route.value.params;
  if (!answer || shown === 0) return null;
  return (
    <div class="paging">
      <span class="muted">{shown} shown{answer.searched ? ` · text searched in the newest ${answer.searched.toLocaleString("en")} jobs` : ""}</span>
      {after ? <a class="button small" href={format("jobs", null, { q })}>Newest</a> : null}
      {answer.after && limit < MOST ? <a class="button small" href={format("jobs", null, { q, after, limit: String(limit * 2) })}>Show {limit} more</a> : null}
      {answer.after && limit >= MOST ? <a class="button small" href={format("jobs", null, { q, after: answer.after, limit: String(limit) })}>Older jobs</a> : null}
    </div>
  );
}
