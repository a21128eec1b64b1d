/** Lines of a log: merges newer ones and filters by level. Pure. */
import type { LogLine } from "../api/types";

export const LEVELS = ["all", "info", "warning", "error"] as const;
const RANK: Record<string, number> = { debug: 1, info: 2, warning: 3, error: 4, critical: 5 };

/** Return the lines with those that came after the last one. */
export function withNewer(lines: LogLine[], more: LogLine[]): LogLine[] {
  const last = lines.at(-1)?.number ?? -1;
  const newer = more.filter((line) => line.number > last);
  return newer.length ? [...lines, ...newer] : lines;
}

/** Return the lines of a level and above. */
export function shown(lines: LogLine[], level: string): LogLine[] {
  const least = RANK[level] ?? 0;
  return least === 0 ? lines : lines.filter((line) => (RANK[line.level.toLowerCase()] ?? 2) >= least);
}
