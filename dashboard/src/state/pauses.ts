/** What can be paused, and whether it is. */
import type { Pause } from "../api/types";

/** A type, a queue, or the whole installation, which has no name. */
export interface PauseTarget {
  of: "type" | "queue" | "all";
  name: string;
}

/** Whether a pause is that of the target itself, not one of a larger part. */
export function isPaused(target: PauseTarget, pauses: Pick<Pause, "of">[]): boolean {
  return pauses.some((pause) => pause.of === target.of);
}
