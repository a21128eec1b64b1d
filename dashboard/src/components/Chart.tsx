/** A chart over time (uPlot) in the colours of the theme. Dragging over it chooses a time range. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { minute } from "../format/time";
import { theme, zone } from "../state/preferences";
import { colours } from "./colours";

export interface Line {
  name: string;
  colour: string; // a CSS variable
  values: (number | null)[];
  fill?: boolean;
  dashed?: boolean;
  format: (value: number) => string;
  shown?: (number | null)[]; // what the legend tells, where the line is stacked
}

interface Props {
  title: string;
  times: number[]; // seconds
  lines: Line[];
  log?: boolean;
  stacked?: boolean; // the first line is the sum: its fill ends at the second
  onRange?: (from: Date, until: Date) => void;
  axis: (value: number) => string;
}

const HEIGHT = 190;
const STEPS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000]; // seconds, for a logarithmic axis of durations

export function Chart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const kind = `${theme.value} ${zone.value} ${props.lines.map((line) => line.name).join()}`;
  useEffect(() => {
    const made = build(host.current!, latest);
    plot.current = made;
    const box = host.current!;
    const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT }));
    observer.observe(box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => made.redraw(false);
    scheme.addEventListener("change", redraw);
    return () => { observer.disconnect(); scheme.removeEventListener("change", redraw); made.destroy(); };
  }, [kind]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, props.lines]);
  return <div class="chart" ref={host} role="img" aria-label={props.title} />;
}

function dataOf(props: Props): uPlot.AlignedData {
  return [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData;
}

function build(host: HTMLElement, latest: { current: Props }): uPlot {
  const { lines, log } = latest.current;
  const options: uPlot.Options = {
    width: host.clientWidth || 600,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    cursor: { drag: { x: Boolean(latest.current.onRange), y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true },
    scales: { x: { time: true }, y: log ? { distr: 3, range: (_, low, high) => logRange(low, high) } : { range: (_, __, high) => [0, Math.max(high * 1.1, 1)] } },
    axes: axes(latest),
    ...(latest.current.stacked ? { bands: [{ series: [1, 2] as [number, number] }] } : {}),
    series: [{ value: (_, at) => (at === null ? "–" : minute(at * 1000, zone.value)) }, ...lines.map((line, i) => seriesOf(line, i, latest))],
    hooks: { setSelect: [(u) => choose(u, latest.current)] },
  };
  return new uPlot(options, dataOf(latest.current), host);
}

function axes(latest: { current: Props }): uPlot.Axis[] {
  const text = () => colours("--muted");
  const grid = { stroke: () => colours("--hairline"), width: 1 };
  const font = "11px system-ui, sans-serif";
  return [
    { stroke: text, grid: { show: false }, ticks: { ...grid, size: 4 }, font, size: 26, values: (_, splits) => splits.map((at) => minute(at * 1000, zone.value)) },
    { stroke: text, grid, ticks: { show: false }, font, size: 52, ...(latest.current.log ? { splits: (_, __, low, high) => STEPS.filter((step) => step >= low && step <= high), filter: (_, splits) => splits } : {}), values: (_, splits) => splits.map((value) => (value === null ? "" : latest.current.axis(value))) },
  ];
}

function seriesOf(line: Line, i: number, latest: { current: Props }): uPlot.Series {
  return {
    label: line.name,
    stroke: () => colours(line.colour),
    width: 1.5,
    points: { show: false },
    ...(line.dashed ? { dash: [4, 4] } : {}),
    ...(line.fill ? { fill: () => colours(line.colour, 0.28) } : {}),
    value: (_, value, __, at) => told(latest.current.lines[i], value, at),
  };
}

function told(line: Line | undefined, value: number | null, at: number | null): string {
  const shown = line?.shown && at !== null ? (line.shown[at] ?? null) : value;
  return shown === null || !line ? "–" : line.format(shown);
}

function choose(u: uPlot, props: Props): void {
  const { left, width } = u.select;
  if (width < 6 || !props.onRange) return;
  const at = (x: number) => new Date(u.posToVal(x, "x") * 1000);
  props.onRange(at(left), at(left + width));
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}

function logRange(low: number | null, high: number | null): [number, number] {
  const from = STEPS.findLast((step) => step <= (low ?? 0.01)) ?? 0.001;
  const until = STEPS.find((step) => step >= Math.max(high ?? 1, from * 10)) ?? 8_640_000;
  return [from, until];
}
