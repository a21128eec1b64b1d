import { short } from "../format/numbers";

interface Props {
  done: number | null;
  total: number | null;
  stage?: string | null;
}

/** A progress bar with the part done and the stage; without a total it only tells what is done. */
export function Progress({ done, total, stage }: Props) {
  if (done === null && !stage) return null;
  const part = done !== null && total ? Math.min(done / total, 1) : null;
  const text = done === null ? "" : total ? `${short(done)}/${short(total)}` : short(done);
  return (
    <span class="progress">
      {part === null ? null : <progress value={part} max={1} aria-label={`${Math.round(part * 100)} % done`} />}
      <span class="progress-text">{[text, stage].filter(Boolean).join(" · ")}</span>
    </span>
  );
}
