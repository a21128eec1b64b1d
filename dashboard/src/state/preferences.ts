/** What one person prefers, kept in the browser. */
import { effect, signal } from "@preact/signals";
import { isZone, type Zone } from "../format/time";

export type Theme = "system" | "light" | "dark";
export const THEMES: Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(stored("theme", THEMES, "system"));
export const compact = signal(localStorage.getItem("mainstay.compact") === "yes");
export const zone = signal<Zone>(storedZone());

export interface View {
  name: string;
  q: string;
}

export const views = signal<View[]>(storedViews());

effect(() => {
  localStorage.setItem("mainstay.theme", theme.value);
  document.documentElement.dataset.theme = theme.value;
});
effect(() => localStorage.setItem("mainstay.compact", compact.value ? "yes" : "no"));
effect(() => localStorage.setItem("mainstay.zone", zone.value));
effect(() => localStorage.setItem("mainstay.views", JSON.stringify(views.value)));

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

function stored<T extends string>(name: string, known: T[], otherwise: T): T {
  const found = localStorage.getItem(`mainstay.${name}`) as T | null;
  return found && known.includes(found) ? found : otherwise;
}

function storedZone(): Zone {
  const found = localStorage.getItem("mainstay.zone") ?? "local";
  return isZone(found) ? found : "local";
}

function storedViews(): View[] {
  try {
    return JSON.parse(localStorage.getItem("mainstay.views") ?? "[]") as View[];
  } catch {
    return []; // the browser's storage was edited by hand
  }
}
