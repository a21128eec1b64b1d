/** When an action on many jobs needs a typed confirmation. */

export const LARGE = 100; // jobs from which on the count is typed
const DESTRUCTIVE = new Set(["delete", "purge", "cancel", "reject"]);

export interface Request {
  action: string;
  count: number;
  everything: boolean; // all that match, not a selection by hand
  production: boolean;
}

/** Whether the count must be typed: for many jobs, for destructive actions on a search, and in production for any search. */
export function mustType({ action, count, everything, production }: Request): boolean {
  if (count >= LARGE) return true;
  if (DESTRUCTIVE.has(action) && (everything || count > 10)) return count > 1;
  return everything && production && count > 1;
}

/** Whether the typed text is the count; separators are permitted. */
export function isCount(typed: string, count: number): boolean {
  return typed.replace(/[\s,.'_]/g, "") === String(count);
}

export function isDestructive(action: string): boolean {
  return DESTRUCTIVE.has(action);
}
