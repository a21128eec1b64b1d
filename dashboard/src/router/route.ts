/** Routes as text: `#/job/01J…?tab=logs`. Pure functions; `location.ts` binds them to the browser. */

export interface Route {
  page: string;
  id: string | null;
  params: Record<string, string>;
}

export const HOME = "overview";

/** Return the route of a location hash. */
export function parse(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#?\/?/, ""));
  const slash = path.indexOf("/");
  const page = slash < 0 ? path : path.slice(0, slash);
  const id = slash < 0 ? "" : path.slice(slash + 1);
  return { page: page || HOME, id: id ? decoded(id) : null, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the hash of a route; parameters without a value are left out. */
export function format(page: string, id: string | null = null, params: Record<string, string | null | undefined> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const query = new URLSearchParams(given).toString();
  return `#/${page}${id === null ? "" : `/${encodeURIComponent(id)}`}${query ? `?${query}` : ""}`;
}

/** Return the hash of a route with some parameters changed; null removes one. */
export function changed(route: Route, params: Record<string, string | null>): string {
  return format(route.page, route.id, { ...route.params, ...params });
}

/** Return the hash of the list of jobs that a search finds. */
export function jobs(q: string): string {
  return format("jobs", null, { q });
}

function split(text: string): [string, string] {
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
