/** The log of a job, live; older lines on demand. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, relative, segment, withQuery } from "../../api/client";
import type { JobView } from "../../api/pages";
import type { LogLine } from "../../api/types";
import { Icon } from "../../components/Icon";
import { SelectField } from "../../components/TextField";
import { line as oneLine } from "../../format/json";
import { absolute, precise } from "../../format/time";
import { LEVELS, shown, withNewer } from "../../live/log";
import { act } from "../../state/notices";
import { zone } from "../../state/preferences";

export function Logs({ view }: { view: JobView }) {
  const [level, setLevel] = useState("all");
  const [kept, setKept] = useState<LogLine[]>(view.logs);
  const box = useRef<HTMLDivElement>(null);
  const path = `/api/jobs/${segment(view.job.id)}/logs`;
  useEffect(() => setKept((lines) => withNewer(lines, view.logs)), [view.logs]);
  const lines = shown(kept, level);
  useStickyEnd(box, lines.length);
  const whole = () => act("The whole log is shown", async () => setKept((await get<{ lines: LogLine[] }>(withQuery(path, { after: 0, limit: 1000 }))).lines));
  if (view.logs_total === 0) return <p class="muted pad">The handler has logged nothing. <code>ctx.log("page done", page=3)</code> and the logging module write here.</p>;
  return (
    <section class="logs" aria-label="Log">
      <div class="logs-tools">
        <SelectField label="Level" value={level} options={LEVELS} onChange={setLevel} />
        <span class="muted">{lines.length} of {view.logs_total} lines</span>
        <span class="grow" />
        {kept.length < view.logs_total ? <button type="button" class="small" onClick={() => void whole()}>Show from the start</button> : null}
        <a class="button small" href={relative(`${path}.txt`)} download={`${view.job.id}.txt`}><Icon name="download" />Download</a>
      </div>
      <div class="log-lines mono" ref={box} tabIndex={0} role="log" aria-label="Lines of the log">
        {lines.map((each) => <LineView key={each.number} line={each} />)}
      </div>
    </section>
  );
}

function LineView({ line }: { line: LogLine }) {
  const at = Date.parse(line.at);
  return (
    <div class={`log-line level-${line.level.toLowerCase()}`}>
      <time class="muted" dateTime={line.at} title={absolute(at, zone.value)}>{precise(at, zone.value)}</time>
      <span class="log-level">{line.level.toLowerCase()}</span>
      <span class="log-text">{line.stage ? <span class="muted">{line.stage} · </span> : null}{line.message} {Object.keys(line.fields).length ? <span class="muted">{oneLine(line.fields, 400)}</span> : null}</span>
    </div>
  );
}

/** Follow the end only while it is in view: who has scrolled up reads. */
function useStickyEnd(box: { current: HTMLDivElement | null }, lines: number): void {
  const atEnd = useRef(true);
  useEffect(() => {
    const at = box.current;
    if (!at) return undefined;
    const onScroll = () => { atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < 30; };
    at.addEventListener("scroll", onScroll);
    return () => at.removeEventListener("scroll", onScroll);
  }, []);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
}
