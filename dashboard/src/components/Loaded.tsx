import type { ComponentChildren } from "preact";
import type { Live } from "../live/useLive";
import { ProblemPanel } from "./ProblemPanel";

/** Shows an answer once it is there; a problem above the last answer. */
export function Loaded<T>({ answer, children }: { answer: Live<T>; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {answer.problem ? <ProblemPanel problem={answer.problem} /> : null}
      {answer.data !== undefined ? children(answer.data) : answer.problem ? null : <Skeleton />}
    </>
  );
}

export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <span /><span /><span /><span />
    </div>
  );
}
