/** The counts beside the names of pages: dead jobs and reviews. */
import { computed } from "@preact/signals";
import type { Counts } from "../api/pages";
import { count } from "../format/numbers";
import { answerFor } from "../live/answers";
import { useLive } from "../live/useLive";
import { sees } from "../state/session";

const COUNTS = "/api/counts";

/** The text of each badge by its page; a page without one has nothing that waits. */
export const badges = computed((): Record<string, string> => {
  const found = answerFor(COUNTS).value.data as Counts | undefined;
  return { ...(found?.dead ? { dead: count(found.dead) } : {}), ...(found?.review ? { reviews: count(found.review, found.capped) } : {}) };
});

/** Keep the counts current, on every page. */
export function useBadges(): void {
  useLive<Counts>(sees("overview") ? COUNTS : null);
}
