import { useEffect, useRef, useState } from "preact/hooks";
import type { JobPage } from "../../api/pages";
import type { Job } from "../../api/types";
import { merge } from "../../live/merge";
import type { Live } from "../../live/useLive";

interface Rows {
  jobs: Job[];
  fresh: number;
  gone: Set<string>;
  loaded: boolean;
  show: () => void;
}

/** The rows on the screen: a new search replaces them, live changes only update them in place. */
export function useJobRows(answer: Live<JobPage>, search: string): Rows {
  const shown = useRef<{ search: string; jobs: Job[] } | null>(null);
  const [, redraw] = useState(0);
  const data = answer.data;
  const list = data?.jobs ?? [];
  if (data && (shown.current?.search !== search || shown.current.jobs.length === 0)) shown.current = { search, jobs: list };
  const current = shown.current?.jobs ?? [];
  const merged = merge(current, data ? list : current, data?.after != null);
  useEffect(() => {
    if (shown.current) shown.current.jobs = merged.rows;
  });
  const show = () => {
    shown.current = { search, jobs: list };
    redraw((n) => n + 1);
  };
  return { jobs: merged.rows, fresh: merged.fresh, gone: merged.gone, loaded: shown.current?.search === search, show };
}
