"""What a model answered, and how asking it can fail."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from mainstay import Permanent

from ...core.fits import misfit

if TYPE_CHECKING:
    from collections.abc import Iterable

CUT = ("max_tokens", "length")  # why an answer ended: at its limit
REFUSED = ("refusal", "content_filter")
PAUSE = 30.0  # seconds, if a service that is busy does not say how long
LONGEST = 3_600.0
SHOWN = 300  # characters of what a service said
LEAST_KEY = 6  # characters of a key; anything shorter is a word


@dataclass(frozen=True)
class Answer:
    """What a model answered. `value` is the parsed JSON if a schema was given; `cost` is None without prices."""

    text: str
    model: str
    stop_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    value: Any = None
    path: str | None = None
    sha256: str | None = None  # of the file


class ModelError(Exception):
    """Asking the model failed; another attempt may succeed."""

    def __init__(self, message: str, code: str | int | None = None) -> None:
        super().__init__(message)
        self.code = code


class Unavailable(ModelError, ConnectionError):
    """The service did not answer, or failed."""


class BadAnswer(ModelError):
    """The answer is not what was asked for: not JSON, or against the schema. No `ValueError`, which many do not retry."""


class Limited(ModelError):
    """The service takes no more requests for `retry_after` seconds."""

    def __init__(self, message: str, code: str | int | None, retry_after: float | None = None) -> None:
        super().__init__(message, code)
        self.retry_after = min(max(retry_after or PAUSE, 1.0), LONGEST)


def refusal(status: int, said: str, who: str, retry_after: float | None = None) -> Exception:
    """Return the error for an HTTP status that is not a success."""
    message = f"{who} answered {status}: {shown(said)}"
    if status in (429, 529):
        return Limited(message, status, retry_after)
    if status in (401, 403):
        return Permanent(f"{message}. Correct the key, then retry the dead jobs with this code", code=status)
    if status in (408, 409, 425) or status >= 500:
        return Unavailable(message, status)
    return Permanent(message, code=status)


def shown(text: str) -> str:
    """Return the beginning of what a service said, on one line and without control characters."""
    line = " ".join(text.split())[:SHOWN]
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def hidden(text: str, secrets: Iterable[str | None]) -> str:
    """Return a text without these secrets: what a service or a command says of an error may repeat the key."""
    for each in secrets:
        text = text.replace(each, "[redacted:key]") if each and len(each) >= LEAST_KEY else text
    return text


def checked(answer: Answer, schema: dict[str, Any] | None) -> Answer:
    """Return the answer, with its value if there is a schema; raise if it is no answer to the question."""
    if answer.stop_reason in REFUSED:
        raise Permanent(f"the model refuses to answer ({answer.stop_reason}): change the prompt", code="refused")
    if not answer.text.strip():
        raise BadAnswer("the answer is empty", "empty")
    answer = Answer(**{**vars(answer), "text": answer.text.replace("\0", "\ufffd")})  # no store takes a NUL
    if schema is None:
        return answer
    if answer.stop_reason in CUT:
        raise Permanent("the answer was cut off, so its JSON is not complete: raise max_tokens", code="cut")
    value = parsed(answer.text)
    why = misfit(value, schema, schema, "answer")
    if why:
        raise BadAnswer(f"the answer does not fit the schema: {why}", "schema")
    return Answer(**{**vars(answer), "value": value})


def parsed(text: str) -> Any:
    """Return the JSON in an answer, which may stand in a code block of Markdown."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```"):
        body = body.partition("\n")[2].removesuffix("```")
    try:
        value = json.loads(body, parse_constant=_no_number, parse_float=_number)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair, which JSON can write, is no text
        return value
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON: {error}", "json") from None


def _number(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")
