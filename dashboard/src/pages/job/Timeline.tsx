import type { JobView } from "../../api/pages";
import { toneOf } from "./tone";
import { Clock } from "../../components/Time";
import { duration } from "../../format/time";

/** What happened, with the time between two points. */
export function Timeline({ view }: { view: JobView }) {
  return (
    <section class="card timeline-card" aria-labelledby="timeline">
      <div class="card-head"><h2 id="timeline">Timeline</h2></div>
      <ol class="timeline">
        {view.timeline.map((point, i) => (
          <li key={i} class={`tl-${toneOf(point)}`}>
            <span class="tl-dot" aria-hidden="true" />
            <span class="tl-what">{point.what}</span>
            <span class="tl-text muted">{point.text}</span>
            <span class="tl-at mono"><Clock at={point.at} /></span>
            {point.took === null ? null : <span class="tl-took muted">{duration(point.took)}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
