/** Which rows of a list are selected. Pure functions over sets of ids. */

export type Selection = ReadonlySet<string>;

export function toggled(selection: Selection, id: string): Selection {
  const next = new Set(selection);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** Return the selection with all rows between two, in the order of the list. */
export function ranged(selection: Selection, ids: string[], from: string | null, to: string): Selection {
  const start = from === null ? -1 : ids.indexOf(from);
  const end = ids.indexOf(to);
  if (start < 0 || end < 0) return toggled(selection, to);
  return new Set([...selection, ...ids.slice(Math.min(start, end), Math.max(start, end) + 1)]);
}

/** Return only what is still in the list. */
export function kept(selection: Selection, ids: string[]): Selection {
  const known = new Set(ids);
  return new Set([...selection].filter((id) => known.has(id)));
}
