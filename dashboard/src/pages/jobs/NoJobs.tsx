import { Empty } from "../../components/Empty";
import { pieces } from "../../search/terms";

interface Props {
  q: string;
  onSearch: (q: string) => void;
}

/** Nothing found: which term to leave out; or nothing there: how to make a job. */
export function NoJobs({ q, onSearch }: Props) {
  const terms = pieces(q);
  if (!terms.length) {
    return (
      <Empty title="There are no jobs yet" code={'mainstay enqueue greet name=Ada --app jobs:app\n\n# or in Python\ngreet.enqueue("Ada")'}>
        <p>Enqueue one from a terminal, from Python, or with the button Enqueue above.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No job matches">
      <p>Leave out a term:</p>
      <p class="chips">
        {terms.map((term) => <button key={term} type="button" class="small" onClick={() => onSearch(terms.filter((each) => each !== term).join(" "))}><code>{term}</code> ✕</button>)}
        <button type="button" class="small" onClick={() => onSearch("")}>all of them</button>
      </p>
      <p class="muted">Ended jobs are removed after the time that their type keeps them.</p>
    </Empty>
  );
}
