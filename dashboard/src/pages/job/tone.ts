import type { JobView } from "../../api/pages";

const TONES: [RegExp, string][] = [[/complet|approved/, "completed"], [/fail|dead|crash|lost|time|error|reject|kill/, "failed"], [/review/, "review"], [/cancel|warn|retr|again|snooz|releas/, "retry"]];

/** Return the tone of a point of the timeline: from its kind, and of an end from how it ended. */
export function toneOf({ kind, what }: Pick<JobView["timeline"][number], "kind" | "what">): string {
  if (kind === "created" || kind === "started" || kind === "due") return kind;
  return TONES.find(([pattern]) => pattern.test(what))?.[1] ?? kind;
}
