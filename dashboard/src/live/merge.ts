/** Merges a new list into the one on the screen without moving what somebody reads. */

export interface Row {
  id: string;
}

export interface Merged<T extends Row> {
  rows: T[];
  fresh: number; // rows that the list has and the screen does not
  gone: Set<string>; // rows on the screen that the list no longer has
}

/** Return the rows on the screen with their new values, how many new ones wait, and which have left.
 *
 * A list that is `full` ends at its limit: rows behind its last one may still match, so they are not gone.
 */
export function merge<T extends Row>(shown: T[], list: T[], full: boolean): Merged<T> {
  const now = new Map(list.map((row) => [row.id, row]));
  const known = new Set(shown.map((row) => row.id));
  const last = full ? list.at(-1)?.id : undefined;
  const gone = new Set(shown.filter((row) => !now.has(row.id) && !(last !== undefined && row.id < last)).map((row) => row.id));
  return { rows: shown.map((row) => now.get(row.id) ?? row), fresh: list.filter((row) => !known.has(row.id)).length, gone };
}
