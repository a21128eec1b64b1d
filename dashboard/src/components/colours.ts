/** Colours of the theme for the canvas, which does not know CSS variables. */

let probe: HTMLElement | null = null;

/** Return a CSS variable as a colour, with an opacity if given. */
export function colours(name: string, opacity = 1): string {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  return opacity === 1 ? found : `rgba(${(found.match(/[\d.]+/g) ?? []).slice(0, 3).join(", ")}, ${opacity})`;
}
