/** The hook by which a component shows an answer of the API and stays current. */
import { useEffect } from "preact/hooks";
import type { Problem } from "../api/types";
import { answerFor, unwatch, watch } from "./answers";
import { changedPaths } from "./connection";

export interface Live<T> {
  data: T | undefined;
  problem: Problem | null;
  at: number;
}

/** Watch a path; null watches nothing. */
export function useLive<T>(path: string | null): Live<T> {
  useEffect(() => {
    if (path === null) return undefined;
    watch(path);
    changedPaths();
    return () => {
      unwatch(path);
      changedPaths();
    };
  }, [path]);
  if (path === null) return { data: undefined, problem: null, at: 0 };
  return answerFor(path).value as Live<T>;
}
