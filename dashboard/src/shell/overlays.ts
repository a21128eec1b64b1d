import { signal } from "@preact/signals";
import type { PauseTarget } from "../state/pauses";

export const paletteOpen = signal(false);
export const helpOpen = signal(false);
export const pausing = signal<PauseTarget | null>(null);
