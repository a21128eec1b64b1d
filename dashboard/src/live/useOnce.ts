/** The hook by which a dialog reads an answer of the API that it needs as it is now. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";

/** Ask for a path once; null asks for nothing. Undefined until the answer is there; null if there is none: what needs it does without. */
export function useOnce<T>(path: string | null): T | null | undefined {
  const [found, setFound] = useState<T | null>();
  useEffect(() => {
    if (path === null) setFound(null);
    else get<T>(path).then(setFound).catch(() => setFound(null));
  }, [path]);
  return found;
}

/** Return the names of all types, or of all queues. */
export function useNames(kind: "types" | "queues"): string[] {
  return (useOnce<{ name: string }[]>(`/api/${kind}`) ?? []).map((each) => each.name);
}
