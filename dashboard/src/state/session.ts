/** Who is logged in, and what that role may do. */
import { computed, signal } from "@preact/signals";
import { get, post, problemOf, remove } from "../api/client";
import type { Problem, Role, Session } from "../api/types";
import { forget } from "../live/answers";
import { noteTime } from "./clock";

const RANK: Record<Role, number> = { viewer: 1, operator: 2, admin: 3 };

export const session = signal<Session | null>(null);
export const sessionProblem = signal<Problem | null>(null);
export const production = computed(() => /^prod/i.test(session.value?.instance.environment ?? ""));

/** Whether the role of this session reaches the given one. */
export function may(role: Role): boolean {
  const own = session.value?.role;
  return own !== null && own !== undefined && RANK[own] >= RANK[role];
}

/** Whether the caller may see a page. */
export function sees(page: string): boolean {
  const pages = session.value?.pages;
  return !pages?.length || pages.includes(page);
}

export async function loadSession(): Promise<void> {
  try {
    accept(await get<Session>("/api/session"));
  } catch (error) {
    sessionProblem.value = problemOf(error);
    if (sessionProblem.value.status === 401) session.value = null;
  }
}

export async function login(token: string): Promise<void> {
  accept(await post<Session>("/api/session", { token }));
}

export async function logout(): Promise<void> {
  await remove("/api/session");
  forget();
  session.value = null;
  await loadSession();
}

function accept(found: Session): void {
  noteTime(found);
  session.value = found;
  sessionProblem.value = null;
}
