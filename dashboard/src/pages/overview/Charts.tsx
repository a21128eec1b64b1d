import { useMemo, useState } from "preact/hooks";
import type { Point } from "../../api/pages";
import { Chart, type Line } from "../../components/Chart";
import { Segmented } from "../../components/Segmented";
import { count, short } from "../../format/numbers";
import { brief, duration } from "../../format/time";
import { go } from "../../router/location";
import { jobs } from "../../router/route";
import { between } from "../../search/terms";

interface Props {
  series: Point[];
  oldest: number | null;
}

/** Throughput (stacked) and how long jobs wait and run, over the last hour. */
export function Charts({ series, oldest }: Props) {
  const times = useMemo(() => series.map((point) => Date.parse(point.at) / 1000), [series]);
  if (series.length < 2) return null;
  return (
    <div class="charts">
      <Throughput series={series} times={times} />
      <Percentiles series={series} times={times} oldest={oldest} />
    </div>
  );
}

function Throughput({ series, times }: { series: Point[]; times: number[] }) {
  const lines = useMemo(() => stacked(series), [series]);
  return (
    <section class="card" aria-labelledby="throughput">
      <div class="card-head"><h2 id="throughput">Attempts per minute</h2><span class="muted hide-phone">drag to see the jobs of a time</span></div>
      <Chart title="Attempts that completed and failed, and jobs enqueued, per minute over the last hour" times={times} lines={lines} stacked axis={short} onRange={(from, until) => go(jobs(between("", "finished", from, until)))} />
    </section>
  );
}

/** Failed over completed: the upper edge is the sum, the legend tells each. */
function stacked(series: Point[]): Line[] {
  const completed = series.map((point) => point.completed);
  const failed = series.map((point) => point.failed);
  const sum = series.map((point) => point.completed + point.failed);
  return [
    { name: "failed", colour: "--dead", values: sum, shown: failed, fill: true, format: count },
    { name: "completed", colour: "--running", values: completed, fill: true, format: count },
    { name: "enqueued", colour: "--queued", values: series.map((point) => point.enqueued), dashed: true, format: count },
  ];
}

function Percentiles({ series, times, oldest }: { series: Point[]; times: number[]; oldest: number | null }) {
  const [kind, setKind] = useState<"wait" | "run">("wait");
  const lines = useMemo(() => percentiles(series, kind, oldest), [series, kind, oldest]);
  return (
    <section class="card" aria-labelledby="percentiles">
      <div class="card-head">
        <h2 id="percentiles">How long jobs {kind}</h2>
        <Segmented label="Show" value={kind} options={[{ value: "wait", name: "Wait" }, { value: "run", name: "Run" }]} onChange={setKind} />
      </div>
      <Chart title={`Median, 95th and 99th percentile of how long jobs ${kind}, over the last hour`} times={times} lines={lines} log axis={brief} onRange={(from, until) => go(jobs(between("", "created", from, until)))} />
    </section>
  );
}

function percentiles(series: Point[], kind: "wait" | "run", oldest: number | null): Line[] {
  const of = (part: "p50" | "p95" | "p99") => series.map((point) => positive(point[`${kind}_${part}`]));
  const lines: Line[] = [
    { name: "p99", colour: "--retrying", values: of("p99"), format: duration },
    { name: "p95", colour: "--scheduled", values: of("p95"), format: duration },
    { name: "p50", colour: "--running", values: of("p50"), format: duration },
  ];
  if (kind === "wait" && oldest) lines.push({ name: "oldest now", colour: "--dead", values: series.map(() => oldest), dashed: true, format: duration });
  return lines;
}

/** A logarithmic axis has no zero. */
function positive(value: number | null): number | null {
  return value === null ? null : Math.max(value, 0.001);
}
