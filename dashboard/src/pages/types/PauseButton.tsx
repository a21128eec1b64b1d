import { useState } from "preact/hooks";
import type { Pause } from "../../api/types";
import { Icon } from "../../components/Icon";
import { PauseDialog, resume } from "../../components/PauseDialog";
import { isPaused, type PauseTarget } from "../../state/pauses";
import { may } from "../../state/session";

interface Props extends PauseTarget {
  paused: Pause[];
}

/** Pause with a reason, or resume. A pause of the whole installation is resumed on the overview. */
export function PauseButton({ of, name, paused }: Props) {
  const [asked, setAsked] = useState(false);
  if (!may("operator")) return null;
  const target = { of, name };
  if (isPaused(target, paused)) return <button type="button" class="small" onClick={() => resume(target)}><Icon name="play" />Resume</button>;
  return (
    <>
      <button type="button" class="small" onClick={() => setAsked(true)}><Icon name="pause" />Pause</button>
      {asked ? <PauseDialog target={target} onClose={() => setAsked(false)} /> : null}
    </>
  );
}
