import { useEffect, useRef } from "preact/hooks";
import { go, route } from "../router/location";
import { format } from "../router/route";
import { may, sees, session } from "../state/session";
import { Icon } from "../components/Icon";
import { LiveSwitch } from "./LiveSwitch";
import { PAGES, PARENT, type PageEntry } from "./pages";
import { ThemeSwitch } from "./ThemeSwitch";
import { UserMenu } from "./UserMenu";
import { ZoneSwitch } from "./ZoneSwitch";
import { helpOpen, paletteOpen } from "./overlays";
import { badges } from "./badges";

/** The bar on top: which installation this is, the pages, and the switches. */
export function Header() {
  const instance = session.value?.instance;
  return (
    <header class="top">
      <div class="brand">
        <a href="#/overview" class="brand-name" aria-label="mainstay, overview"><img src="./icon.svg" alt="" width={20} height={20} /><span class="hide-phone">mainstay</span></a>
        {instance?.name && instance.name !== "mainstay" ? <span class="instance" title={`${instance.engine} ${instance.url}`}>{instance.name}</span> : null}
        {instance?.environment ? <span class="environment">{instance.environment}</span> : null}
      </div>
      <Navigation />
      <div class="top-tools">
        {may("operator") ? <a class="button small hide-narrow" href={format("enqueue")}><Icon name="plus" />Enqueue</a> : null}
        <button type="button" class="ghost small" title="Jump to anything (Ctrl+K)" aria-label="Jump to anything" onClick={() => { paletteOpen.value = true; }}>
          <Icon name="search" /><kbd class="hide-wide">Ctrl K</kbd>
        </button>
        <LiveSwitch />
        <ZoneSwitch />
        <ThemeSwitch />
        <button type="button" class="ghost square hide-phone" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick={() => { helpOpen.value = true; }}><Icon name="keyboard" /></button>
        <UserMenu />
      </div>
    </header>
  );
}

function Navigation() {
  const current = PARENT[route.value.page] ?? route.value.page;
  const badged = Object.keys(badges.value).length;
  const bar = useRef<HTMLElement>(null);
  useEffect(() => bar.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [current, badged]); // the bar scrolls on a phone, and badges make it wider
  return (
    <nav class="nav" aria-label="Pages" ref={bar}>
      {PAGES.filter((entry) => sees(entry.page)).map((entry) => (
        <a key={entry.page} href={format(entry.page)} aria-current={entry.page === current ? "page" : undefined} title={`${entry.name} (g ${entry.key})`}>
          {entry.name}
          <Badge entry={entry} />
        </a>
      ))}
    </nav>
  );
}

function Badge({ entry }: { entry: PageEntry }) {
  const text = badges.value[entry.page];
  return text ? <span class={`badge b-${entry.page}`}>{text}</span> : null;
}

export function goKeys(): Record<string, () => void> {
  return Object.fromEntries(PAGES.map((entry) => [`g ${entry.key}`, () => go(format(entry.page))]));
}
