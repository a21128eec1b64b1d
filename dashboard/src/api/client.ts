/** Requests to the HTTP API below the address of the page. */
import type { Json, Problem } from "./types";

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }
}

export function get<T>(path: string): Promise<T> {
  return request<T>("GET", path);
}

export function post<T>(path: string, body: object = {}): Promise<T> {
  return request<T>("POST", path, body);
}

export function put<T>(path: string, body: object): Promise<T> {
  return request<T>("PUT", path, body);
}

export function patch<T>(path: string, body: object): Promise<T> {
  return request<T>("PATCH", path, body);
}

export function remove<T>(path: string, body?: object): Promise<T> {
  return request<T>("DELETE", path, body);
}

/** Return an API path (`/api/jobs`) relative to the page, so that any mount point works. */
export function relative(path: string): string {
  return path.replace(/^\//, "");
}

/** Return a path with a query of the parameters that have a value. */
export function withQuery(path: string, params: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

export function segment(name: string): string {
  return encodeURIComponent(name);
}

async function request<T>(method: string, path: string, body?: object): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(relative(path), { method, headers, body: body ? JSON.stringify(body) : null, credentials: "same-origin" });
  } catch (error) {
    throw new ApiError(unreachable(error));
  }
  const answer = await read(response);
  if (!response.ok) throw new ApiError(asProblem(response, answer));
  return answer as T;
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!text) return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function asProblem(response: Response, answer: unknown): Problem {
  if (typeof answer === "object" && answer !== null && "title" in answer) {
    const given = answer as Partial<Problem>;
    return { title: given.title ?? "", status: response.status, detail: given.detail ?? "", code: given.code ?? "" };
  }
  return { title: response.statusText || `HTTP ${response.status}`, status: response.status, detail: typeof answer === "string" ? answer.slice(0, 300) : "", code: "" };
}

function unreachable(error: unknown): Problem {
  return {
    title: "The server does not answer",
    status: 0,
    detail: `Check that \`mainstay serve\` or the application still runs. The browser says: ${error instanceof Error ? error.message : String(error)}`,
    code: "unreachable",
  };
}

/** Return the error of a form that is not sent: the text says what is wrong with it. */
export function wrong(detail: string): ApiError {
  return new ApiError({ title: "", status: 0, detail, code: "form" });
}

/** Return what went wrong as a problem, whatever was raised. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  return { title: "Error in the dashboard", status: 0, detail: error instanceof Error ? error.message : String(error), code: "dashboard" };
}
