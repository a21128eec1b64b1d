import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import type { Overview } from "../../api/pages";
import { useLive } from "../../live/useLive";
import { Charts } from "./Charts";
import { Findings } from "./Findings";
import { Numbers } from "./Numbers";
import { TypesTable } from "./TypesTable";
import { Verdict } from "./Verdict";

const FIRST_JOB = `# jobs.py
from mainstay import Mainstay

app = Mainstay("sqlite:///jobs.db")

@app.job
def greet(name: str) -> str:
    return f"Hello {name}"

# in a terminal:  mainstay worker --app jobs:app
# in another:     mainstay enqueue greet name=Ada --app jobs:app`;

/** Is it healthy? What is wrong? Everything is a link to the jobs behind it. */
export function OverviewPage() {
  const answer = useLive<Overview>("/api/overview");
  return (
    <Page title="Overview" hidden>
      <Loaded answer={answer}>
        {(data) => (
          <div class="stack">
            <Verdict overview={data} />
            <Numbers overview={data} />
            <Charts series={data.series} oldest={data.numbers.oldest_wait} />
            <Findings overview={data} />
            {data.types.length ? <TypesTable rows={data.types} /> : <Empty title="No job type is known yet" code={FIRST_JOB}><p>A worker registers the types of your code when it starts. This is all it takes:</p></Empty>}
          </div>
        )}
      </Loaded>
    </Page>
  );
}
