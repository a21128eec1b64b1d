/** Matches key presses to shortcuts, with two-key sequences such as `g j`. Pure: `shortcuts.ts` binds it to the page. */

export interface Press {
  key: string;
  ctrl: boolean;
  shift: boolean;
}

export interface Match {
  shortcut: string | null;
  prefix: string; // what a sequence has so far
}

/** Return the name of a press: `j`, `R`, `shift+x`, `mod+k`. Letters in upper case say shift by themselves. */
export function nameOf(press: Press): string {
  if (press.ctrl) return `mod+${press.key.toLowerCase()}`;
  if (press.shift && press.key.toLowerCase() === "x") return "shift+x";
  return press.key;
}

/** Return the shortcut that a press completes, or the prefix of a sequence that it starts. */
export function match(known: Iterable<string>, prefix: string, press: Press): Match {
  const names = new Set(known);
  const name = nameOf(press);
  const whole = prefix ? `${prefix} ${name}` : name;
  if (names.has(whole)) return { shortcut: whole, prefix: "" };
  if (prefix && names.has(name)) return { shortcut: name, prefix: "" };
  const starts = [...names].some((each) => each.startsWith(`${name} `));
  return { shortcut: null, prefix: starts ? name : "" };
}
