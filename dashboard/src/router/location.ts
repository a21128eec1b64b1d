/** The current route as a signal. */
import { signal } from "@preact/signals";
import { changed, parse } from "./route";

export const route = signal(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

/** Go to a route; `replace` leaves no entry in the history, e.g. while somebody types. */
export function go(hash: string, replace = false): void {
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  route.value = parse(hash);
}

export function setParams(params: Record<string, string | null>, replace = false): void {
  go(changed(route.value, params), replace);
}
