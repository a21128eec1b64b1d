/** The whole page: header, the page of the route, and what lies over it. */
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { Notices } from "./components/Notices";
import { ProblemPanel } from "./components/ProblemPanel";
import { Skeleton } from "./components/Loaded";
import { useShortcuts } from "./keyboard/shortcuts";
import { moveRow, openRow } from "./keyboard/rows";
import { AuditPage } from "./pages/audit/AuditPage";
import { BulkPage } from "./pages/bulk/BulkPage";
import { DeadPage } from "./pages/dead/DeadPage";
import { EnqueuePage } from "./pages/enqueue/EnqueuePage";
import { JobPage } from "./pages/job/JobPage";
import { JobsPage } from "./pages/jobs/JobsPage";
import { LoginPage } from "./pages/login/LoginPage";
import { OverviewPage } from "./pages/overview/OverviewPage";
import { ReviewsPage } from "./pages/reviews/ReviewsPage";
import { SchedulePage } from "./pages/schedules/SchedulePage";
import { SchedulesPage } from "./pages/schedules/SchedulesPage";
import { SettingsPage } from "./pages/settings/SettingsPage";
import { TypePage } from "./pages/types/TypePage";
import { TypesPage } from "./pages/types/TypesPage";
import { WorkersPage } from "./pages/workers/WorkersPage";
import { Empty } from "./components/Empty";
import { go, route } from "./router/location";
import { jobs } from "./router/route";
import { useBadges } from "./shell/badges";
import { goKeys, Header } from "./shell/Header";
import { listed } from "./shell/pages";
import { Help } from "./shell/Help";
import { toggleLive } from "./shell/LiveSwitch";
import { helpOpen, paletteOpen } from "./shell/overlays";
import { Palette } from "./shell/Palette";
import { Pausing } from "./shell/Pausing";
import { nextTheme } from "./state/preferences";
import { loadSession, sees, session, sessionProblem } from "./state/session";

const PAGES: Record<string, FunctionComponent> = {
  overview: OverviewPage, jobs: JobsPage, job: JobPage, dead: DeadPage, reviews: ReviewsPage, types: TypesPage, type: TypePage,
  schedules: SchedulesPage, schedule: SchedulePage, workers: WorkersPage, audit: AuditPage, settings: SettingsPage, bulk: BulkPage, enqueue: EnqueuePage,
};

const OF_ONE = ["job", "type", "schedule"]; // pages of one thing, which their address names

export function App() {
  useEffect(() => void loadSession(), []);
  useRetry();
  if (session.value) return <Shell />;
  if (sessionProblem.value?.status === 401) return <><LoginPage /><Notices /></>;
  return <main class="page">{sessionProblem.value ? <ProblemPanel problem={sessionProblem.value} /> : <Skeleton />}</main>;
}

function Shell() {
  useAccent();
  useBadges();
  useShortcuts({
    ...goKeys(),
    "/": focusSearch,
    "mod+k": () => { paletteOpen.value = true; },
    "?": () => { helpOpen.value = true; },
    ".": toggleLive,
    t: nextTheme,
    j: () => moveRow(1),
    k: () => moveRow(-1),
    Enter: openOrClick,
  });
  const { page, id } = route.value;
  const Shown = pageOf(page, id);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <div class="band" aria-hidden="true" />
      <Header />
      <main id="main" class={`page p-${page}`} tabIndex={-1}>
        <Shown key={`${page}/${id ?? ""}`} />
      </main>
      <Notices />
      <Palette />
      <Pausing />
      <Help />
    </>
  );
}

function pageOf(page: string, id: string | null): FunctionComponent {
  if (OF_ONE.includes(page) && id === null) return Unknown;
  if (page === "overview" && !sees("overview")) return JobsPage;
  return page in PAGES && !sees(listed(page)) ? Forbidden : (PAGES[page] ?? Unknown);
}

function Unknown() {
  return <Empty title="There is no such page"><p>The address names a page that this version does not have. <a href="#/overview">Go to the overview.</a></p></Empty>;
}

function Forbidden() {
  return <Empty title="This page is not for you"><p>Your role or tenant may not see it. <a href="#/jobs">Go to the jobs.</a></p></Empty>;
}

function focusSearch(): void {
  const box = document.getElementById("search");
  if (box) box.focus();
  else {
    go(jobs(""));
    setTimeout(() => document.getElementById("search")?.focus(), 50);
  }
}

/** Enter opens the row in focus; on a button or link it does what the browser does. */
function openOrClick(): void {
  const at = document.activeElement as HTMLElement | null;
  if (at?.matches("[data-row]")) openRow();
  else at?.click();
}

/** Ask for the session again while the server or its store does not answer. */
function useRetry(): void {
  const waiting = !session.value && sessionProblem.value !== null && sessionProblem.value.status !== 401;
  useEffect(() => {
    if (!waiting) return undefined;
    const timer = setInterval(() => void loadSession(), 3_000);
    return () => clearInterval(timer);
  }, [waiting]);
}

function useAccent(): void {
  const accent = session.value?.instance.accent;
  useEffect(() => {
    if (accent) document.documentElement.style.setProperty("--instance", accent);
    document.documentElement.classList.toggle("has-instance", Boolean(accent || session.value?.instance.environment));
  }, [accent]);
}
