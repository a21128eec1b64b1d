"""A command that answers: the prompt goes in by stdin, the answer comes out of stdout, as text or as the JSON of `claude`.

The command runs in an empty folder of its own, with a scrubbed environment, in a process group that is killed when the job is
cancelled or times out, and when the worker is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from mainstay import Permanent

from .answer import Answer, BadAnswer, Unavailable, hidden, refusal, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REPLIES = ("text", "claude")
MOST = 10 << 20  # bytes of output
PAUSE = 0.02  # seconds between two looks whether it has ended
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")  # of the worker's environment
# Waits until the worker is gone, however that ends, and removes what it has left: the process group and the folder.
WATCH = "import os, shutil, sys; os.read(0, 1); os.killpg(int(sys.argv[1]), 9); shutil.rmtree(sys.argv[2], True)"
NO_HOOKS = ("-p", "--no-session-persistence", "--output-format", "json", "--tools", "", "--model", "{model}")


@dataclass(frozen=True)
class Command:
    """A program and its arguments, in which {model}, {system} and {max_tokens} are filled in.

    `env` is added to its environment; "$NAME" is the worker's own variable. `reply` is "text" or "claude".
    """

    argv: tuple[str, ...]
    reply: str = "text"
    env: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, prompt: str, seconds: float, given: Mapping[str, Any]) -> Answer:
        """Run the command and return its answer."""
        argv = [_filled(word, given) for word in self.argv]
        with TemporaryDirectory(prefix="mainstay-prompt-", ignore_cleanup_errors=True) as folder:
            environment = {"HOME": folder, **_environment(self.env, given)}
            code, out, err = await _run(argv, prompt.encode(), environment, folder, seconds)
        keys = [os.environ.get(value[1:]) for value in self.env.values() if value.startswith("$")]
        if self.reply == "claude":
            return _claude(out, code, hidden(err, keys), argv[0], keys)
        return _plain(out, code, hidden(err, keys), argv[0], given)


def claude(program: str = "claude", *, login: bool = False, env: Mapping[str, str] | None = None) -> Command:
    """Return the command `claude` with flags so that no hook, tool or setting of the user takes part.

    It takes its key from ANTHROPIC_API_KEY. With `login`, it uses the account that the user of the worker is logged in to.
    """
    own = ("--setting-sources=", "--strict-mcp-config") if login else ("--bare",)
    keys = {"HOME": "$HOME"} if login else {"ANTHROPIC_API_KEY": "$ANTHROPIC_API_KEY"}
    quiet = {
        "CLAUDE_CODE_MAX_RETRIES": "0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "{max_tokens}", "ANTHROPIC_BASE_URL": "{base_url}",
    }  # fmt: skip
    argv = (program, *own, *NO_HOOKS, "--system-prompt", "{system}")
    return Command(argv, "claude", {**keys, **quiet, **(env or {})})


def _filled(word: str, given: Mapping[str, Any]) -> str:
    for name in ("model", "system", "max_tokens", "base_url"):
        word = word.replace(f"{{{name}}}", str(given.get(name) or ""))
    return word


def _environment(chosen: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of the command: little of the worker's, and what was chosen. Empty values are left out."""
    found = {name: os.environ.get(name, "") for name in PASSED_ON}
    for name, value in chosen.items():
        found[name] = os.environ.get(value[1:], "") if value.startswith("$") else _filled(value, given)
    return {name: value for name, value in found.items() if value}


async def _run(argv: list[str], data: bytes, env: dict[str, str], folder: str, seconds: float) -> tuple[int, str, str]:
    """Run a program to its end; return its exit code, and what it wrote to stdout and stderr.

    It reads and writes files: a pipe would be open for as long as any child of it lives.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        process = _start(argv, given, out, err, env, folder)
        try:
            with _watched(process, folder):
                async with asyncio.timeout(seconds):
                    await _ended(process, argv[0], out, err)
        except TimeoutError:
            raise Unavailable(f"{argv[0]} has not ended within {seconds:g} s", "timeout") from None
        finally:
            _end(process)
        return process.returncode, _read(out), _read(err)


def _start(
    argv: list[str], given: IO[bytes], out: IO[bytes], err: IO[bytes], env: dict[str, str], folder: str
) -> Popen[bytes]:
    try:
        return Popen(argv, stdin=given, stdout=out, stderr=err, cwd=folder, env=env, start_new_session=True)  # noqa: S603  (the operator's)
    except (FileNotFoundError, PermissionError) as error:
        text = f"{argv[0]} cannot be run: {error.strerror}. Install it where the workers run, then retry the dead jobs with this code"
        raise Permanent(text, code="no-command") from None


@contextmanager
def _watched(process: Popen[bytes], folder: str) -> Iterator[None]:
    """Have another process end the command if this one is killed: nobody else would."""
    program = [sys.executable, "-ISc", WATCH, str(process.pid), folder]
    with Popen(program, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True) as watch:  # noqa: S603  (ours)
        try:
            yield
        finally:
            watch.kill()  # before the command is waited for: its number may be that of another process then


async def _ended(process: Popen[bytes], who: str, *written: IO[bytes]) -> None:
    while process.poll() is None:
        if sum(os.fstat(file.fileno()).st_size for file in written) > MOST:
            raise Permanent(f"{who} wrote more than {MOST:,} bytes", code="output")
        await asyncio.sleep(PAUSE)


def _end(process: Popen[bytes]) -> None:
    """Kill the command and whatever it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST).decode("utf-8", "replace")


def _plain(text: str, code: int, err: str, who: str, given: Mapping[str, Any]) -> Answer:
    if code:
        raise Unavailable(f"{who} ended with {code}: {_last(err)}", f"exit-{code}")
    return Answer(text.removesuffix("\n"), given["model"])


def _last(err: str) -> str:
    return shown(err.strip()[-200:])


def _claude(text: str, code: int, err: str, who: str, keys: Iterable[str | None]) -> Answer:
    """Read the JSON of `claude`. Its exit code is 0 after SIGINT, and its subtype is "success" after errors: is_error decides."""
    try:
        reply = json.loads(text)
        failed, said = reply["is_error"], hidden(str(reply.get("result") or reply.get("errors") or ""), keys)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadAnswer(f"{who} ended with {code} and wrote no valid JSON: {_last(err)}", "json") from None
    if failed is not False:
        status = reply.get("api_error_status")
        if isinstance(status, int):
            raise refusal(status, said, who)
        raise Unavailable(f"{who}: {shown(said)}", reply.get("api_error") or reply.get("terminal_reason"))
    return _answered(reply)


def _answered(reply: Any) -> Answer:
    usage, models = reply.get("usage") or {}, reply.get("modelUsage") or {}
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    guessed = any(each.get("costBasis") == "unknown" for each in models.values())  # a price of no known model
    return Answer(
        str(reply.get("result") or ""),
        next(iter(models), ""),
        reply.get("stop_reason"),
        sum(usage.get(name) or 0 for name in read) if usage else None,
        usage.get("output_tokens"),
        None if guessed else reply.get("total_cost_usd"),
    )
