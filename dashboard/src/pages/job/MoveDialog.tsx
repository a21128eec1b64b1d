import { useState } from "preact/hooks";
import { post } from "../../api/client";
import type { Job } from "../../api/types";
import { ReasonDialog } from "../../components/ReasonDialog";
import { ActionFields, readArguments } from "../bulk/ActionFields";

const TITLES = { reprioritise: "Change the priority", requeue: "Move to another queue", reschedule: "Change the start time" };

interface Props {
  action: keyof typeof TITLES;
  job: Job;
  path: string;
  onClose: () => void;
}

/** Another priority, queue or start time for a job that has not started. */
export function MoveDialog({ action, job, path, onClose }: Props) {
  const [given, setGiven] = useState<Record<string, string>>({ priority: String(job.priority), queue: job.queue });
  const run = async () => {
    const read = readArguments(action, given);
    if ("error" in read) throw new Error(read.error);
    await post(`${path}/${action}`, read.arguments);
  };
  return (
    <ReasonDialog title={TITLES[action]} button="Save" label={null} done="Saved" run={run} onClose={onClose}>
      <ActionFields action={action} values={given} error={null} onChange={setGiven} />
    </ReasonDialog>
  );
}
