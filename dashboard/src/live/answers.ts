/** The newest answer of each path that the page watches. Answers of left pages are kept for a while: going back is instant. */
import { type Signal, signal } from "@preact/signals";
import type { Problem } from "../api/types";

export interface Answer {
  data: unknown;
  problem: Problem | null;
  at: number; // when it came; 0: not yet
  streamed: number; // how many the stream has delivered up to this one
}

const KEPT = 40;
const NONE: Answer = { data: undefined, problem: null, at: 0, streamed: 0 };
const answers = new Map<string, Signal<Answer>>();
const watchers = new Map<string, number>();

export function answerFor(path: string): Signal<Answer> {
  let slot = answers.get(path);
  if (!slot) {
    slot = signal<Answer>(NONE);
    answers.set(path, slot);
  }
  return slot;
}

export function watched(): string[] {
  return [...watchers.keys()];
}

export function watch(path: string): void {
  watchers.set(path, (watchers.get(path) ?? 0) + 1);
}

export function unwatch(path: string): void {
  const left = (watchers.get(path) ?? 1) - 1;
  if (left > 0) watchers.set(path, left);
  else watchers.delete(path);
  forgetOld();
}

/** Forget everything, e.g. after a logout. */
export function forget(): void {
  for (const slot of answers.values()) slot.value = NONE;
}

function forgetOld(): void {
  for (const path of answers.keys()) {
    if (answers.size <= KEPT) return;
    if (!watchers.has(path)) answers.delete(path);
  }
}
