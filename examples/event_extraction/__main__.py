"""The whole story, from ingestion to the archive: `python3 dev.py example event_extraction`.

With a number after it, so many worker processes are killed meanwhile.
"""

import shutil
import sys
import tempfile
import textwrap
import time

from examples.event_extraction.parts import Fleet, Workers, command, servers

TEXTS = [
    "Dan Okoro resigned in Lagos on 9 July 2026.",
    "Frank Weber sold the mill in Graz on 1 April 2026.",
    "On 12 May 2026, Gita Rao launched the ferry in Kochi.",
    "Hugo Silva closed the office in Porto on 5 June 2026.",
]
MANY = 150
WAITS = (60, 120, 240, 480)  # seconds: 30 × 2^n, up to ten minutes


class Story:
    """Prints what happens, and counts the checks that fail."""

    def __init__(self):
        self.failed, self.begun = 0, time.monotonic()

    def say(self, text):
        start = f"[{time.monotonic() - self.begun:5.1f} s] "
        for line in text.splitlines():
            indent = " " * (len(start) + len(line) - len(line.lstrip()))
            columns = shutil.get_terminal_size((80, 24)).columns
            print(textwrap.fill(line, columns, initial_indent=start, subsequent_indent=indent), flush=True)

    def check(self, text, right):
        self.failed += not right
        self.say(f"  {'ok' if right else 'WRONG'}: {text}")


def main(kills=0):
    story = Story()
    story.say("starting PostgreSQL 18, a language model (135 million parameters) and a server that plays its faults")
    with servers() as faults, tempfile.TemporaryDirectory() as archive:
        from examples.event_extraction import chapters

        chapters.prepare()
        faults.play(chapters.script(TEXTS, 0 if kills else MANY), then=chapters.canned(after=0.2))
        with Workers("--concurrency", "10", EVENTS_TIMEOUT="2s"):
            chapters.faults_and_backoff(story, WAITS)
        with Fleet(4) if kills else Workers("--processes", "4", "--concurrency", "25") as workers:
            if kills:
                chapters.kills(story, TEXTS[:2], workers, kills)
            else:
                chapters.real_texts(story, TEXTS)
                chapters.ingestion(story, MANY)
            chapters.one_transaction(story)
            chapters.status(story, command)
            chapters.everything_extracted(story)
            chapters.retention(story, command, archive)
        story.check("the workers stopped in good order", workers.code == 0)
    story.say("done" if not story.failed else f"{story.failed} checks failed")
    return 1 if story.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*map(int, sys.argv[1:])))
    except KeyboardInterrupt:
        sys.exit("\nstopped: the servers and workers have ended")
