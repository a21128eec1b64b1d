/** The pages of the header, in its order. */

export interface PageEntry {
  page: string;
  name: string;
  key: string; // after `g`
}

export const PAGES: PageEntry[] = [
  { page: "overview", name: "Overview", key: "o" },
  { page: "jobs", name: "Jobs", key: "j" },
  { page: "dead", name: "Dead", key: "d" },
  { page: "reviews", name: "Reviews", key: "r" },
  { page: "types", name: "Types", key: "t" },
  { page: "schedules", name: "Schedules", key: "s" },
  { page: "workers", name: "Workers", key: "w" },
  { page: "audit", name: "Audit", key: "a" },
  { page: "settings", name: "Settings", key: "," },
];

/** The pages to which the list of a session applies: those of the header, and their parts. */
export function listed(page: string): string {
  return PARENT[page] ?? page;
}

/** The header entry to which a page belongs. */
export const PARENT: Record<string, string> = { job: "jobs", bulk: "jobs", enqueue: "jobs", type: "types", schedule: "schedules" };
