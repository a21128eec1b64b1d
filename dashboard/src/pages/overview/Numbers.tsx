import type { Overview, Point } from "../../api/pages";
import { Sparkline } from "../../components/Sparkline";
import { count, rate } from "../../format/numbers";
import { duration } from "../../format/time";
import { jobs } from "../../router/route";

interface Figure {
  name: string;
  value: string;
  href: string;
  trend: number[];
  kind: string;
  about: string; // what the line shows
}

/** Five numbers with the last hour; each is a link to its jobs. */
export function Numbers({ overview }: { overview: Overview }) {
  return (
    <ul class="numbers">
      {figures(overview).map((figure) => (
        <li key={figure.name}>
          <a href={figure.href} title={`The line: ${figure.about}, by minute over the last hour`}>
            <span class="number-name">{figure.name}</span>
            <span class={`number n-${figure.kind}`}>{figure.value}</span>
            <Sparkline values={figure.trend} kind={figure.kind} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function figures({ numbers, series }: Overview): Figure[] {
  const full = series.slice(0, -1); // the last minute is still filling
  const of = (name: keyof Point) => full.map((point) => Number(point[name] ?? 0));
  return [
    { name: "waiting", value: count(numbers.waiting, numbers.capped), href: jobs("state:queued,blocked,scheduled"), trend: of("enqueued"), kind: "queued", about: "jobs enqueued" },
    { name: "running", value: count(numbers.running), href: jobs("state:running"), trend: of("completed"), kind: "running", about: "attempts completed" },
    { name: "done / min", value: rate(numbers.done_per_minute), href: jobs("state:completed finished:1h"), trend: of("completed"), kind: "completed", about: "attempts completed" },
    { name: "failed / min", value: rate(numbers.failed_per_minute), href: jobs("state:retrying,dead"), trend: of("failed"), kind: numbers.failed_per_minute > 0 ? "dead" : "completed", about: "attempts failed" },
    { name: "oldest wait", value: numbers.oldest_wait === null ? "–" : duration(numbers.oldest_wait), href: jobs("state:queued"), trend: of("wait_p95"), kind: "retrying", about: "95th percentile of the wait" },
  ];
}
