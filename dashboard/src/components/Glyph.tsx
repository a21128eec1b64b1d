/** The glyph of a state: states are told apart by shape, not by colour alone. */
import type { JSX } from "preact";
import { known, type Label } from "../state/states";

const DRAWN: Record<Label, JSX.Element> = {
  scheduled: <><circle cx="8" cy="8" r="6" /><path d="M8 4.5V8l2.5 1.8" /></>,
  queued: <circle cx="8" cy="8" r="5.5" />,
  blocked: <path d="M4 2.5h8M4 13.5h8M4.5 2.5c0 3.5 3.5 4 3.5 5.5s-3.5 2-3.5 5.5M11.5 2.5c0 3.5-3.5 4-3.5 5.5s3.5 2 3.5 5.5" />,
  running: <><circle cx="8" cy="8" r="5.5" /><path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z" /></>,
  cancelling: <><circle cx="8" cy="8" r="5.5" /><path class="fill" d="M6 6h4v4H6z" /></>,
  review: <path d="M8 2 14 8 8 14 2 8z" />,
  retrying: <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3" />,
  completed: <path d="m3 8.5 3.3 3.3L13 4.6" />,
  cancelled: <><circle cx="8" cy="8" r="5.5" /><path d="m4.2 11.8 7.6-7.6" /></>,
  dead: <path d="m4 4 8 8M12 4l-8 8" />,
};

export function Glyph({ label }: { label: string }) {
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      {DRAWN[known(label)]}
    </svg>
  );
}
