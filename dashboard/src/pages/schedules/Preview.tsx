import { useEffect, useState } from "preact/hooks";
import { get, problemOf, withQuery } from "../../api/client";
import { absolute, upcoming } from "../../format/time";
import { now } from "../../state/clock";

interface Props {
  cron: string;
  every: string;
  tz: string;
}

interface Found {
  words: string;
  fires: string[];
}

/** The next ten times in the zone of the schedule, a moment after the last key; with the change to or from summer time. */
export function Preview({ cron, every, tz }: Props) {
  const [found, problem] = usePreview(cron, every, tz);
  return (
    <section class="fires" aria-live="polite" aria-label="Next times">
      {problem ? <p class="field-error">{problem}</p> : found ? (
        <>
          <p><strong>{found.words}</strong></p>
          <ol>{found.fires.map((at, i) => <li key={at}><span class="mono">{upcoming(Date.parse(at), now.value, tz)}</span> {jump(found.fires, i, tz) ? <span class="tag note">clocks change</span> : null} <span class="muted">{absolute(Date.parse(at), tz).split(" ").at(-1)}</span></li>)}</ol>
        </>
      ) : <p class="muted">Give a cron expression or an interval to see its next ten times.</p>}
    </section>
  );
}

function usePreview(cron: string, every: string, tz: string): [Found | null, string | null] {
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (!cron && !every) { setFound(null); setProblem(null); return undefined; }
    let current = true;
    const timer = setTimeout(() => {
      get<Found>(withQuery("/api/schedules/next", { cron, every: cron ? "" : every, tz, count: 10 }))
        .then((answer) => { if (current) { setFound(answer); setProblem(null); } })
        .catch((failure: unknown) => { if (current) setProblem(problemOf(failure).detail || problemOf(failure).title); });
    }, 250);
    return () => { current = false; clearTimeout(timer); };
  }, [cron, every, tz]);
  return [found, problem];
}

/** Whether the clocks change between this time and the one before. */
function jump(fires: string[], i: number, tz: string): boolean {
  const before = fires[i - 1];
  return before !== undefined && absolute(Date.parse(before), tz).split(" ").at(-1) !== absolute(Date.parse(fires[i]!), tz).split(" ").at(-1);
}
