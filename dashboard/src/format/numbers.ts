/** Numbers as text. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Return a count with separators: 12,431; `capped` adds a plus. */
export function count(n: number, capped = false): string {
  return WHOLE.format(n) + (capped ? "+" : "");
}

/** Return a count in little space: 950, 12.4k, 3.1M. */
export function short(n: number): string {
  if (Math.abs(n) < 1000) return Number.isInteger(n) ? String(n) : n.toFixed(n < 10 ? 1 : 0);
  const [unit, size] = Math.abs(n) < 999_500 ? (["k", 1e3] as const) : (["M", 1e6] as const);
  const value = n / size;
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

export function percent(part: number | null): string {
  if (part === null) return "–";
  const value = part * 100;
  if (value === 0) return "0 %";
  return value < 0.1 ? "<0.1 %" : `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

export function rate(n: number): string {
  return n === 0 ? "0" : n < 10 ? n.toFixed(1) : short(Math.round(n));
}

export function plural(n: number, word: string, words = `${word}s`): string {
  return `${count(n)} ${n === 1 ? word : words}`;
}

export function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let step = 0;
  let size = n;
  while (size >= 1024 && step < units.length - 1) {
    size /= 1024;
    step += 1;
  }
  return `${size < 10 && step > 0 ? size.toFixed(1) : Math.round(size)} ${units[step]}`;
}
