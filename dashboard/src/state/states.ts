/** The states of a job as they are shown. */

export const LABELS = ["queued", "scheduled", "blocked", "running", "cancelling", "review", "retrying", "completed", "cancelled", "dead"] as const;
export type Label = (typeof LABELS)[number];

const ABOUT: Record<Label, string> = {
  queued: "ready to start",
  scheduled: "waits for its time",
  blocked: "waits for a limit or another job",
  running: "a worker runs it",
  cancelling: "runs, and was asked to stop",
  review: "waits for a person",
  retrying: "failed, waits for its next attempt",
  completed: "done",
  cancelled: "was cancelled",
  dead: "failed for good",
};

/** Return a known label; a state that this build does not know is shown as blocked ones are. */
export function known(label: string): Label {
  return (LABELS as readonly string[]).includes(label) ? (label as Label) : "blocked";
}

export function about(label: string): string {
  return (LABELS as readonly string[]).includes(label) ? ABOUT[label as Label] : label;
}

export function isEnded(state: string): boolean {
  return state === "completed" || state === "cancelled" || state === "dead";
}
