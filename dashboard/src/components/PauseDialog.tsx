import { post, segment } from "../api/client";
import { act } from "../state/notices";
import type { PauseTarget } from "../state/pauses";
import { ReasonDialog } from "./ReasonDialog";

const HELD = { type: "No job of this type starts", queue: "No job of this queue starts", all: "No worker starts a job of any type" };

/** Asks why something is paused, and pauses it. */
export function PauseDialog({ target, onClose }: { target: PauseTarget; onClose: () => void }) {
  const all = target.of === "all";
  return (
    <ReasonDialog title={all ? "Pause everything" : `Pause ${target.name}`} button={all ? "Pause everything" : "Pause"} danger={all} placeholder={all ? "Database maintenance" : "The mail server is down"} done={all ? "Everything is paused" : `${target.name} is paused`} run={(reason) => post(pathOf(target, "pause"), { reason })} onClose={onClose}>
      <p>{HELD[target.of]} until somebody resumes. Running jobs go on to their end; new ones are accepted and wait.</p>
    </ReasonDialog>
  );
}

export function resume(target: PauseTarget): void {
  void act(target.of === "all" ? "Everything runs again" : `${target.name} runs again`, () => post(pathOf(target, "resume")));
}

function pathOf({ of, name }: PauseTarget, verb: "pause" | "resume"): string {
  return of === "all" ? `/api/${verb}` : `/api/${of}s/${segment(name)}/${verb}`;
}
