/** The time of the server, ticking once a second while the page is visible. */
import { signal } from "@preact/signals";

let offset = 0; // ms that the server's clock is ahead of the browser's

export const now = signal(Date.now());

export function serverNow(): number {
  return Date.now() + offset;
}

/** Learn the server's time from an answer that tells it (`instance.time`). */
export function noteTime(body: unknown): void {
  const time = (body as { instance?: { time?: string } } | null | undefined)?.instance?.time;
  if (!time) return;
  offset = new Date(time).getTime() - Date.now();
  now.value = serverNow();
}

setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, 1000);
