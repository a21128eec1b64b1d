"""Texts in which personal data is marked, and how well what is found fits them: precision and recall by kind."""

import re
from collections import Counter
from pathlib import Path

from mainstay.handlers.sanitize import KINDS, Sanitizer

MARK = re.compile(r"⟦(\w+?):(.*?)⟧", re.DOTALL)
FRAMES = ("{}", "Before: {} and after.", '{{"text": "{}"}}', "first\n{}\nlast", "日本語 {} ü 🙂", "> {}")


def texts():
    """Yield each text and what is personal in it, as (kind, start, end)."""
    lines = Path(__file__).with_name("personal_data.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            for frame in FRAMES if MARK.search(line) else FRAMES[:1]:
                yield unmarked(frame.format(line.replace("\\n", "\n")))


def unmarked(text):
    """A text without its marks, and where they were."""
    plain, spans, copied = "", set(), 0
    for found in MARK.finditer(text):
        plain += text[copied : found.start()]
        spans.add((found[1], len(plain), len(plain) + len(found[2])))
        plain, copied = plain + found[2], found.end()
    return plain + text[copied:], spans


def measured():
    """By kind: how many were marked, the share that was found (recall), and the share of what was found that was marked (precision)."""
    rules = Sanitizer(names=["Grace Hopper"], regions=["US"])
    marked, found, right, wrong = Counter(), Counter(), Counter(), []
    for text, expected in texts():
        got = {(span.kind, span.start, span.end) for span in rules.find(text)}
        marked.update(kind for kind, *_ in expected)
        found.update(kind for kind, *_ in got)
        right.update(kind for kind, *_ in got & expected)
        wrong += [(text, each, text[each[1] : each[2]]) for each in got ^ expected]
    figures = {
        kind: (marked[kind], right[kind] / marked[kind], right[kind] / max(found[kind], 1)) for kind in sorted(KINDS)
    }
    return figures, wrong


if __name__ == "__main__":
    figures, wrong = measured()
    for text, span, what in wrong:
        print(span, repr(what), "in", repr(text)[:150])
    for kind, (count, recall, precision) in figures.items():
        print(f"| `{kind}` | {count} | {recall:.2f} | {precision:.2f} |")
