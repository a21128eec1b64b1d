"""The commands that do the work of a job again: for a shell, for curl and for Python. Secrets are redacted in them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.payload import readable
from ..redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..core.job import Job

OPTIONS = ("queue", "priority", "tenant", "ref")  # that a job has beside its arguments and tags
BEARER = '--oauth2-bearer "$MAINSTAY_TOKEN"'  # the shell replaces it, so in double quotes


class Commands(NamedTuple):
    """One job, again: as a new job with the same arguments, without its key."""

    cli: str
    curl: str
    python: str


def commands(job: Job, url: str) -> Commands:
    """Return the commands; `url` is where the API enqueues jobs."""
    given = redactor().value(readable(job.payload))
    args: dict[str, Any] = given if isinstance(given, dict) else {}
    options = {name: value for name in OPTIONS if (value := getattr(job, name))}
    tags = {"tags": list(job.tags)} if job.tags else {}
    return Commands(
        _cli(job, args, options), _curl(url, {"type": job.type, "args": args, **options, **tags}),
        _python(job.type, args, options | tags),
    )  # fmt: skip


def _cli(job: Job, args: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    words = [f"--{name}={value}" for name, value in options.items()] + [f"--tag={tag}" for tag in job.tags]
    pairs = [f"{name}={_word(value)}" for name, value in args.items() if _is_plain(name, value)]
    if len(pairs) == len(args):
        return shlex.join(["mainstay", "enqueue", job.type, *pairs, *words])
    text = json.dumps(args, ensure_ascii=False)
    return f"printf %s {shlex.quote(text)} | {shlex.join(['mainstay', 'enqueue', job.type, '-', *words])}"


def _is_plain(name: str, value: Any) -> bool:
    """Whether `name=value` means this value, whatever type the argument has: a text that is JSON as well is ambiguous."""
    if not name or "=" in name or name[0] in "-@":
        return False
    if not isinstance(value, str):
        return True
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return True
    return False


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _curl(url: str, body: Mapping[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False)
    return f"curl {shlex.quote(url)} -H 'Content-Type: application/json' {BEARER} -d {shlex.quote(text)}"


def _python(type: str, args: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"app.enqueue({type!r}, {dict(args)!r}{given})"
