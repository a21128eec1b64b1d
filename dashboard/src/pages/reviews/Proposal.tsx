import type { Json } from "../../api/types";
import { Diff } from "../../components/Diff";
import { JsonTree } from "../../components/JsonTree";

/** The proposed output; with what it replaces as a difference. */
export function Proposal({ output, before }: { output: Json; before: Json | null }) {
  if (before !== null) return <Diff before={before} after={output} />;
  if (output === null) return <p class="muted">It proposes no output: only the question is to be decided.</p>;
  return typeof output === "string" ? <pre class="proposal" tabIndex={0}>{output}</pre> : <JsonTree name="Proposed output" value={output} />;
}
