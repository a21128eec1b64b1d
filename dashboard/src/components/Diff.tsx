import type { Json } from "../api/types";
import { diffJson } from "../format/diff";

const SIGN = { same: " ", added: "+", removed: "−" } as const;

/** Two values side by line: what was removed and what was added. */
export function Diff({ before, after }: { before: Json; after: Json }) {
  return (
    <div class="diff" role="group" aria-label="Changes, − removed and + added" tabIndex={0}>
      {diffJson(before, after).map((line, i) => (
        <div key={i} class={`diff-${line.kind}`}>
          <span class="diff-sign">{SIGN[line.kind]}</span>
          {line.text}
        </div>
      ))}
    </div>
  );
}
