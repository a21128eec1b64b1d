"""The whole story: `python3 dev.py example agent_workers`. With `bench` after it, how fast the system is."""

import os
import sys
import tempfile
import time
from importlib.util import find_spec

from examples.agent_workers.parts import Workers, servers
from examples.file_outbox.__main__ import Story


def main():
    """Run the story in a folder of its own; return 1 if something was not as it should be."""
    began = time.monotonic()
    if find_spec("wordllama") is None:
        sys.exit(
            "this example embeds texts with wordllama, which is there for Python 3.11 to 3.13 on x86-64 only: use one of those"
        )
    print(
        "Valkey, a language model, Slack and a receiver start on this machine;\nthe first run fetches the model (93 MB)",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="agent-workers-") as folder, servers(folder) as found:
        story = Story(folder, dict(os.environ))
        tell(story, found)
    took = time.monotonic() - began
    print(f"\n{story.failed} checks failed" if story.failed else f"\nall as it should be, in {took:.0f} s")
    return 1 if story.failed else 0


def tell(story, found):
    """Tell the chapters in order, with two worker processes under a supervisor."""
    from examples.agent_workers import chapters, operators

    message = chapters.start(story, found)
    with Workers("--processes", "2", "--concurrency", "25") as workers:
        chapters.embedded(story)
        chapters.consolidated(story)
        chapters.cared_for(story)
        chapters.learned(story)
        chapters.archived(story)
        chapters.integrated(story, found, message)
        chapters.exported(story)
        operators.tenants(story)
        operators.schedules(story)
        operators.dead_letters(story, found)
        operators.metrics(story)
    story.part("The workers are stopped with SIGTERM")
    story.check("they finish what runs and exit with 0", workers.code == 0)


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["bench"]:
            from examples.agent_workers.bench import main
        elif sys.argv[1:]:
            sys.exit("usage: python -m examples.agent_workers [bench]")
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped: the servers and workers have ended")
