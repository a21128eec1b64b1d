import { about, known } from "../state/states";
import { Glyph } from "./Glyph";

/** The state of a job. Normal states are quiet text; states that want attention are filled. */
export function StatePill({ label, note }: { label: string; note?: string }) {
  return (
    <span class={`pill s-${known(label)}`} title={about(label)}>
      <Glyph label={label} />
      {label}
      {note ? <span class="pill-note"> {note}</span> : null}
    </span>
  );
}
