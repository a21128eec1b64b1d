/** Instants and durations as text. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Return a duration in two units at most: 840 ms, 4.2 s, 1 m 05 s, 2 h 03 m, 3 d 4 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < MINUTE - 0.5) return `${Math.round(s)} s`;
  return pair(Math.round(s));
}

/** Return a duration in one unit, for an axis: 100 ms, 10 s, 1 m, 10 h. */
export function brief(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const [size, unit] = seconds < MINUTE ? [1, "s"] : seconds < HOUR ? [MINUTE, "m"] : seconds < DAY ? [HOUR, "h"] : [DAY, "d"];
  return `${Math.round((seconds / Number(size)) * 10) / 10} ${unit}`;
}

/** Return a duration for a running clock: whole seconds, so that it does not flicker. */
export function elapsed(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  return s < MINUTE ? `${s} s` : pair(s);
}

function pair(s: number): string {
  if (s < HOUR) return `${Math.floor(s / MINUTE)} m ${pad(s % MINUTE)} s`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h ${pad(Math.floor((s % HOUR) / MINUTE))} m`;
  return `${Math.floor(s / DAY)} d ${Math.floor((s % DAY) / HOUR)} h`;
}

/** Return how far an instant is from now: `3 m ago`, `in 2 h`, `now`. */
export function relativeTo(at: number, now: number): string {
  const seconds = (at - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 1) return "now";
  const text = oneUnit(size);
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

function oneUnit(s: number): string {
  if (s < MINUTE) return `${Math.floor(s)} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} m`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h${s < 6 * HOUR ? ` ${Math.floor((s % HOUR) / MINUTE)} m` : ""}`;
  return `${Math.floor(s / DAY)} d`;
}

/** A zone as people choose it: `local`, `UTC`, or an IANA name. */
export type Zone = string;

const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = FORMATS.get(key);
  if (!found) {
    const timeZone = zone === "local" ? undefined : zone;
    found = new Intl.DateTimeFormat("en-GB", timeZone ? { ...options, timeZone } : options);
    FORMATS.set(key, found);
  }
  return found;
}

export function isZone(zone: Zone): boolean {
  try {
    formatter(zone, { hour: "2-digit" });
    return true;
  } catch {
    return false;
  }
}

function parts(at: number, zone: Zone): Record<string, string> {
  const format = formatter(zone, {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    hourCycle: "h23", timeZoneName: "short", weekday: "short",
  });
  return Object.fromEntries(format.formatToParts(at).map((part) => [part.type, part.value]));
}

/** Return the full date and time with the zone: 2026-01-31 09:30:05 CET. */
export function absolute(at: number, zone: Zone): string {
  const p = parts(at, zone);
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second} ${p.timeZoneName}`;
}

/** Return the time of day, with the date unless it is the day of `now`: 09:30:05, 01-30 09:30. */
export function clock(at: number, now: number, zone: Zone): string {
  const p = parts(at, zone);
  const n = parts(now, zone);
  if (p.day === n.day && p.month === n.month && p.year === n.year) return `${p.hour}:${p.minute}:${p.second}`;
  return p.year === n.year ? `${p.month}-${p.day} ${p.hour}:${p.minute}` : `${p.year}-${p.month}-${p.day}`;
}

/** Return weekday and minute, for runs to come: Mon 09:30, with the date beyond six days. */
export function upcoming(at: number, now: number, zone: Zone): string {
  const p = parts(at, zone);
  const day = Math.abs(at - now) < 6 * DAY * 1000 ? p.weekday : `${p.year}-${p.month}-${p.day}`;
  return `${day} ${p.hour}:${p.minute}${p.second === "00" ? "" : `:${p.second}`}`;
}

/** Return hours and minutes for an axis. */
export function minute(at: number, zone: Zone): string {
  const p = parts(at, zone);
  return `${p.hour}:${p.minute}`;
}

/** Return milliseconds with the fraction, for log lines: 09:30:05.123. */
export function precise(at: number, zone: Zone): string {
  const p = parts(at, zone);
  return `${p.hour}:${p.minute}:${p.second}.${String(Math.floor(at % 1000)).padStart(3, "0")}`;
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** Return a text in parts: every second one is an instant as the server writes it. */
export function withInstants(text: string): string[] {
  return text.split(INSTANT);
}

function pad(n: number): string {
  return String(n).padStart(2, "0");
}
