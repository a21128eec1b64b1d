"""Run the whole story: `python3 dev.py example conversation_hook`."""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from examples.conversation_hook.story import (
    LIMIT,
    Failed,
    Workers,
    check,
    counted,
    heading,
    hooked,
    p95,
    rows,
    say,
    statuses,
    waited,
)
from examples.conversation_hook.talks import PRIVATE, short, talk
from tests.servers.kubo import Kubo
from tests.servers.model import Model

GOOD, POOR, LATER = 12, 1, 4  # conversations: worth keeping, not, and while the network is away


def main():
    started = time.monotonic()
    print("An IPFS node and a language model start; the first run fetches the model (93 MB)", flush=True)
    with tempfile.TemporaryDirectory(prefix="conversation-hook-") as name, Kubo() as node, Model() as model:
        folder = Path(name)
        settings(folder, node, model)
        heading(f"An IPFS node and a language model run on this machine ({time.monotonic() - started:.1f} s)")
        told(folder, node)
    print(f"\nAll of it holds; it took {time.monotonic() - started:.0f} s.")


def settings(folder, node, model):
    """Put where things are into the environment: of this program, the hook and the workers."""
    note = f"import sys; open({str(folder / 'alerts')!r}, 'a').write(sys.stdin.read() + '\\n')"
    os.environ |= {
        "CONVERSATIONS": str(folder / "conversations.db"), "IPFS_NODE": node.url, "MODEL_URL": model.url,
        "MAINSTAY_ALERTS": json.dumps({"file": {"kind": "command", "argv": [sys.executable, "-c", note]}}),
    }  # fmt: skip


def told(folder, node):
    from examples.conversation_hook import pipeline
    from examples.conversation_hook.flood import flood

    app, path = pipeline.app, pipeline.DATABASE
    empty = node.pins()
    app.alerts.set("critical", threshold=["sanitize_conversation", "mine_upload"])
    recorded(app, path)
    with Workers(processes=2) as workers:
        worked(app, path)
        away(app, path, node)
        letter(app, folder)
        published(pipeline, node, empty)
        measured(app)
        heading("The workers are stopped with SIGTERM")
        check(workers.stop() == 0, "they finish what runs and exit with 0")
    heading("12,000 events, and no worker")
    flood(folder / "flood.db")


def recorded(app, path):
    heading(f"The hook runs {GOOD + POOR} times, each in a new interpreter")
    hooked(talk(0))  # makes the tables
    times = [hooked(event) for event in (*map(talk, range(1, GOOD)), short(GOOD))]
    took, used = p95(each[0] for each in times), p95(each[1] for each in times)
    say(
        f"p95 {took:.0f} ms from start to exit, {used:.0f} ms of them on the processor; a quiet machine takes less than {LIMIT:.0f} in all"
    )
    hooked(talk(0))
    check(
        len(app.list("type:sanitize_conversation")) == GOOD + POOR,
        "each conversation has one job, also if its hook runs twice",
    )
    check(statuses(path) == {"pending_sanitization": GOOD + POOR}, "nothing else has happened yet")


def worked(app, path):
    heading("Two worker processes start; one is killed in the middle")
    waited(lambda: statuses(path).get("uploaded", 0) >= 2, "the first uploads")
    victim = waited(lambda: [each for each in app.workers() if each.state == "live" and each.running], "a busy worker")[
        0
    ]
    os.kill(victim.pid, signal.SIGKILL)
    waited(lambda: statuses(path) == {"uploaded": GOOD, "rejected": POOR}, "all conversations to be done")
    check(True, f"{GOOD} conversations were sanitized, validated, learned from and uploaded; {POOR} was rejected")
    check(not app.list("state:dead"), "the killed worker has lost nothing")


def away(app, path, node):
    heading("The network is away: the node is stopped")
    node.kill()
    for number in range(100, 100 + LATER):
        hooked(talk(number))
    waited(lambda: breaker(app).state != "closed", "the breaker of uploads to open")
    waited(lambda: statuses(path).get("learned") == LATER, "the other steps to go on")
    check(
        statuses(path)["uploaded"] == GOOD,
        f"{LATER} conversations wait behind the breaker of mine_upload; hooks and other steps go on",
    )
    node.start()
    waited(lambda: statuses(path)["uploaded"] == GOOD + LATER, "the uploads to be sent")
    check(breaker(app).state == "closed", "the node is back: all of them are sent")


def breaker(app):
    return next(each for each in app.breakers() if each.type == "mine_upload")


def letter(app, folder):
    heading("A job without a conversation")
    job = app.enqueue("sanitize_conversation", {"conversation": "nobody"}, queue="conversations")
    waited(lambda: app.get(job.id).state == "dead", "it to be dead")
    notice = waited(lambda: next((each for each in notices(folder) if each["rule"] == "critical"), None), "the alert")
    check(
        notice["job"] == job.id,
        f"it is dead at once, and an alert of severity {notice['severity']} tells so: {notice['text']}",
    )


def notices(folder):
    """What the channel of alerts was given so far."""
    path = folder / "alerts"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def published(pipeline, node, empty):
    heading("What is on the node")
    from mainstay.handlers.upload.cid import cids

    kept = {key: row for key, row in rows(pipeline.DATABASE).items() if row["status"] == "uploaded"}
    wanted = {cids([pipeline.document(row)]) for row in kept.values()}
    pins = node.pins() - empty
    check(
        len(pins) == len(wanted) and all(each.v0 in pins or each.v1 in pins for each in wanted),
        f"{len(pins)} contents, each once, by the content ids computed here",
    )
    texts = "".join(row["sanitized_content"] + row["learning"] for row in kept.values())
    check(
        not any(private in texts for private in PRIVATE),
        "none of the planted names, addresses, numbers and keys is in them",
    )
    say("for example: " + json.loads(pipeline.document(next(iter(kept.values()))))["text"].splitlines()[0][:110] + "…")


def measured(app):
    heading("What was measured")
    for row in app.stats(since="1h").rows:
        print(
            f"  {row.type:24} {row.completed:3} done, {row.failed:2} failed, {row.success:6.1%} ok, p95 run {(row.run.p95 or 0) * 1000:,.0f} ms"
        )
    counted(app, "mainstay_jobs_total", "mainstay_job_duration_seconds")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"  ✗ {error}")
    except KeyboardInterrupt:
        sys.exit("\nstopped: the servers and workers have ended")
