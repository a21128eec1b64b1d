/** Moves the focus through the rows of a list: elements with `data-row`. */

export function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main [data-row]")];
}

/** Return the row that has the focus. */
export function currentRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("[data-row]") ?? null;
}

export function moveRow(step: 1 | -1): void {
  const all = rows();
  const current = currentRow();
  const at = current ? all.indexOf(current) : step > 0 ? -1 : all.length;
  const target = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  target?.focus();
  target?.scrollIntoView({ block: "nearest" });
}

/** Open the row that has the focus: its first link. */
export function openRow(): void {
  currentRow()?.querySelector<HTMLAnchorElement>("a[href]")?.click();
}
