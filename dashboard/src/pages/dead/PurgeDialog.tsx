import { useState } from "preact/hooks";
import { post } from "../../api/client";
import type { DeadGroup, Operation } from "../../api/pages";
import { ReasonDialog } from "../../components/ReasonDialog";
import { TextField } from "../../components/TextField";
import { count } from "../../format/numbers";
import { isCount } from "../../state/confirm";
import { told } from "./GroupActions";

interface Props {
  group: DeadGroup;
  path: string;
  onClose: () => void;
}

/** Delete all dead jobs of a cause; the count is typed. */
export function PurgeDialog({ group, path, onClose }: Props) {
  const [typed, setTyped] = useState("");
  const run = async () => {
    if (!isCount(typed, group.jobs)) throw new Error(`Type ${group.jobs} to confirm`);
    told(await post<Operation>(`${path}/purge`));
  };
  return (
    <ReasonDialog title={`Delete ${count(group.jobs, group.capped)} dead jobs`} button="Delete them" danger label={null} done="Deleting" run={run} onClose={onClose}>
      <p>The jobs, their attempts and their logs are removed. This cannot be undone.</p>
      <TextField first label={`Type ${count(group.jobs)} to confirm`} value={typed} onChange={setTyped} placeholder={String(group.jobs)} />
    </ReasonDialog>
  );
}
