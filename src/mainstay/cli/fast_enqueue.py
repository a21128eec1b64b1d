"""`mainstay enqueue TYPE k=v …` for hooks: parses by hand, because importing click takes longer than the enqueue.

It handles the plain form only: a store URL, no application, the options below. Everything else goes to the full command,
which accepts the same syntax and explains mistakes.
"""

from __future__ import annotations

import sys

from ..core.errors import ConfigError, MainstayError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

OPTIONS = ("url", "key", "unique", "period", "in", "at", "priority", "queue", "tag")


def quick(argv: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Enqueue and return the exit code, or None if the full command must handle it."""
    found = parsed(argv)
    if found is None or environ.get("MAINSTAY_APP"):
        return None
    type, pairs, given = found
    chosen = given.pop("url", None)
    url = chosen or environ.get("MAINSTAY_URL")
    if not url:
        return None
    from . import exits

    try:
        return enqueue(url, type, pairs, given)
    except (StoreError, ConfigError) as error:
        source = "" if chosen else "the environment variable MAINSTAY_URL"
        return exits.report(exits.from_source(error, url, source))
    except MainstayError as error:
        return exits.report(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED


def parsed(argv: Sequence[str]) -> tuple[str, list[str], dict[str, Any]] | None:
    """Return the type, pairs and options of the plain form; None for any other form."""
    if not argv or argv[0] != "enqueue":
        return None
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(argv[1:])
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--") or name not in OPTIONS:
            return None
        value = value if equals else next(rest, "")
        if not value:
            return None
        given[name] = (*given.get(name, ()), value) if name == "tag" else value
    if not words or not words[0] or any("=" not in word or word[0] in "=@" for word in words[1:]):
        return None
    return words[0], words[1:], given


def enqueue(url: str, type: str, pairs: Sequence[str], given: Mapping[str, Any]) -> int:
    """Enqueue and print the id; say so if the job existed already."""
    from ..app import Mainstay
    from . import enqueue_args, exits

    app = Mainstay(url)
    try:
        handle = enqueue_args.send(app, type, pairs, given)
    finally:
        app.close()
    sys.stdout.write(handle.id + "\n")
    if not handle.created:
        exits.say(enqueue_args.taken(given))
    return exits.OK
