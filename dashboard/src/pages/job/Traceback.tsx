import type { Attempt, Frame } from "../../api/types";
import { CopyButton } from "../../components/Copy";

/** The traceback: frames of your code are open, those of libraries folded. */
export function Traceback({ attempt }: { attempt: Attempt }) {
  const frames = attempt.frames ?? [];
  return (
    <div class="traceback">
      {frames.length ? grouped(frames).map((group, i) => (group.user ? group.frames.map((frame, j) => <FrameView key={`${i}.${j}`} frame={frame} />) : <Folded key={i} frames={group.frames} />)) : null}
      {attempt.error ? <p class="traceback-error mono">{attempt.error}</p> : null}
      {attempt.traceback ? (
        <details class="raw">
          <summary>As text</summary>
          <div class="code"><pre tabIndex={0}>{attempt.traceback}</pre><CopyButton text={attempt.traceback} label="Copy the traceback" /></div>
        </details>
      ) : null}
    </div>
  );
}

function Folded({ frames }: { frames: Frame[] }) {
  return (
    <details class="folded">
      <summary>{frames.length} {frames.length === 1 ? "frame" : "frames"} of libraries</summary>
      {frames.map((frame, i) => <FrameView key={i} frame={frame} />)}
    </details>
  );
}

function FrameView({ frame }: { frame: Frame }) {
  return (
    <div class={`frame ${frame.user ? "user" : ""}`}>
      <p class="mono"><span>{frame.file}</span>{frame.line === null ? null : <span class="muted">:{frame.line}</span>} <span class="muted">in</span> {frame.function}</p>
      {frame.code ? <pre tabIndex={0}>{frame.code}</pre> : null}
    </div>
  );
}

function grouped(frames: Frame[]): { user: boolean; frames: Frame[] }[] {
  const groups: { user: boolean; frames: Frame[] }[] = [];
  for (const frame of frames) {
    const last = groups.at(-1);
    if (last?.user === frame.user) last.frames.push(frame);
    else groups.push({ user: frame.user, frames: [frame] });
  }
  return groups;
}
