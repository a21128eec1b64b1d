import { dismiss, notices } from "../state/notices";
import { Icon } from "./Icon";

/** Notices at the foot of the page, read out by screen readers. */
export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`notice ${notice.kind}`}>
          <Icon name={notice.kind === "done" ? "check" : "warn"} />
          <div class="grow">
            <strong>{notice.text}</strong>
            {notice.detail ? <p>{notice.detail}</p> : null}
            {notice.link ? <p><a href={notice.link.href}>{notice.link.text}</a></p> : null}
          </div>
          <button type="button" class="ghost square" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
