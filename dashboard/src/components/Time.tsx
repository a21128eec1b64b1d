/** Instants and durations that stay current; the absolute time is shown on hover. */
import { absolute, clock, duration, elapsed, relativeTo, withInstants } from "../format/time";
import { now } from "../state/clock";
import { zone } from "../state/preferences";

interface At {
  at: string | null | undefined;
}

/** How long ago, or how soon: `3 m ago`. */
export function Ago({ at }: At) {
  if (!at) return <span class="muted">–</span>;
  const ms = Date.parse(at);
  return <time dateTime={at} title={hover(ms)}>{relativeTo(ms, now.value)}</time>;
}

/** The time of day, with the date if it is another day. */
export function Clock({ at }: At) {
  if (!at) return <span class="muted">–</span>;
  const ms = Date.parse(at);
  return <time dateTime={at} title={hover(ms)}>{clock(ms, now.value, zone.value)}</time>;
}

/** A clock that runs since an instant. */
export function Since({ at }: At) {
  if (!at) return <span class="muted">–</span>;
  const ms = Date.parse(at);
  return <time dateTime={at} title={`since ${hover(ms)}`}>{elapsed((now.value - ms) / 1000)}</time>;
}

/** A text of the server whose instants are shown in the zone of the page. */
export function Timed({ text }: { text: string }) {
  return <>{withInstants(text).map((part, i) => (i % 2 ? <Clock key={i} at={part} /> : part))}</>;
}

export function Took({ seconds }: { seconds: number | null | undefined }) {
  if (seconds === null || seconds === undefined) return <span class="muted">–</span>;
  return <span title={`${seconds} s`}>{duration(seconds)}</span>;
}

function hover(ms: number): string {
  const shown = absolute(ms, zone.value);
  return zone.value === "UTC" ? `${shown} · ${absolute(ms, "local")} here` : `${shown} · ${absolute(ms, "UTC")}`;
}
