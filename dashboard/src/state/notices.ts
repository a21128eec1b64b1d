/** Short notices of what was done or went wrong. */
import { signal } from "@preact/signals";
import { problemOf } from "../api/client";
import { refresh } from "../live/connection";

export interface Notice {
  id: number;
  kind: "done" | "failed";
  text: string;
  detail: string;
  link: { text: string; href: string } | null;
}

export const notices = signal<Notice[]>([]);
let last = 0;

export function notify(kind: Notice["kind"], text: string, detail = "", link: Notice["link"] = null): void {
  last += 1;
  const notice = { id: last, kind, text, detail, link };
  notices.value = [...notices.value.slice(-3), notice];
  setTimeout(() => dismiss(notice.id), kind === "done" ? 6_000 : 20_000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Run an action, say how it ended, and bring the page up to date. Returns undefined if it failed. */
export async function act<T>(done: string | ((result: T) => string), action: () => Promise<T>): Promise<T | undefined> {
  try {
    const result = await action();
    notify("done", typeof done === "string" ? done : done(result));
    void refresh();
    return result;
  } catch (error) {
    const problem = problemOf(error);
    notify("failed", problem.title || "That did not work", problem.detail);
    return undefined;
  }
}
