import { wrong } from "../../api/client";

/** Return a name that a form has; throw if something has it already, because saving would replace that. */
export function unused(name: string, taken: string[]): string {
  const given = name.trim();
  if (!given) throw wrong("give it a name");
  if (taken.includes(given)) throw wrong(`${given} is there already: give another name, or remove that one first`);
  return given;
}
