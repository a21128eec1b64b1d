import type { JSX } from "preact";

const DRAWN = {
  search: <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  copy: <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />,
  check: <path d="m3 8.5 3.3 3.3L13 4.6" />,
  play: <path class="fill" d="M5 3v10l8-5z" />,
  pause: <path d="M5.5 3v10M10.5 3v10" />,
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  up: <path class="fill" d="M8 4 13 11H3z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  sun: <path d="M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1" />,
  moon: <path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z" />,
  system: <><circle cx="8" cy="8" r="5.5" /><path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z" /></>,
  clock: <><circle cx="8" cy="8" r="5.5" /><path d="M8 4.8V8l2.2 1.6" /></>,
  keyboard: <path d="M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M4.5 9.5h7" />,
  download: <path d="M8 2.5v7m-3-3 3 3 3-3M3 13h10" />,
  rows: <path d="M2.5 4h11M2.5 8h11M2.5 12h11" />,
  menu: <path d="M2.5 4h11M2.5 8h11M2.5 12h11" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" />,
  warn: <path d="M8 2 15 14H1zM8 6.5v3.2M8 11.8v.1" />,
  edit: <path d="m3 13 .6-3L10.8 2.8l2.4 2.4L6 12.4z" />,
  star: <path d="m8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z" />,
} satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof DRAWN;

/** A decorative icon; the control around it has the name. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon i-${name}`} viewBox="0 0 16 16" aria-hidden="true">
      {DRAWN[name]}
    </svg>
  );
}
