/** A small line without axes. The number beside it carries the meaning. */
export function Sparkline({ values, kind = "plain" }: { values: number[]; kind?: string }) {
  if (values.length < 2) return <svg class="spark" aria-hidden="true" />;
  const most = Math.max(...values, 1e-9);
  const step = 100 / (values.length - 1);
  const points = values.map((value, i) => `${(i * step).toFixed(2)},${(23 - (value / most) * 22).toFixed(2)}`);
  return (
    <svg class={`spark ${kind}`} viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={`M0,24L${points.join("L")}L100,24Z`} />
      <path class="line" d={`M${points.join("L")}`} />
    </svg>
  );
}

/** Bars, e.g. of the last 24 hours. */
export function Bars({ values, title }: { values: number[]; title: string }) {
  const most = Math.max(...values, 1);
  const width = 100 / Math.max(values.length, 1);
  return (
    <svg class="bars" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={title}>
      <title>{title}</title>
      {values.map((value, i) => (
        <rect key={i} class={value ? "" : "none"} x={i * width + width * 0.12} width={width * 0.76} y={value ? 23 - (value / most) * 22 : 22.5} height={value ? (value / most) * 22 + 1 : 1} />
      ))}
    </svg>
  );
}
