/** Where in the dashboard an operator does what a command does. */
import { format } from "../../router/route";

const PAGES: Record<string, string> = {
  reviews: format("reviews"), dead: format("dead"), limits: format("types", null, { tab: "limits" }), queues: format("types", null, { tab: "queues" }), worker: format("workers"), resume: format("types"), enable: format("types"), breaker: format("types"), schedules: format("schedules"),
};

/** Return the page of a command such as `mainstay reviews`; null if it has none. */
export function pageOf(fix: string): string | null {
  const [program, command = "", verb, name] = fix.split(" ");
  if (command === "dead" && verb === "show" && name) return format("dead", name);
  return program === "mainstay" ? PAGES[command] ?? null : null;
}
