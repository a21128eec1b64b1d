"""Redaction: texts and JSON values without their secrets, by key name, by path and by pattern. The only place that decides what is one.

`[redacted:password]` stands in place of a value; the password of a URL becomes `***`. To redact twice changes nothing more.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from . import named_secrets
from .errors import UsageError
from .named_secrets import A_WORD, COUNTS
from .secret_patterns import DEFAULT, PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OFF = ("off",)  # the setting `redact` that switches it off
DEEPEST = 200  # levels of a value that are looked at
SHORTEST = 13  # characters of a secret that is known by its pattern
MARK = "[redacted:"
GATES = ("-", "_", ":", "%", "/", "=")  # most texts lack these: then no hint with one of them needs to be looked for
NAMED = {  # fields whose name is the value of another field: of headers, of settings, of variables
    "name": ("value", "before", "after"), "key": ("value",), "Name": ("Value",), "Key": ("Value",),
}  # fmt: skip
TEXTS, JSON = (
    ("reason", "error", "traceback", "message", "stage"),
    ("payload", "result", "checkpoint", "children", "review", "fields", "detail", "details"),
)  # of rows
CARD_NUMBERS = range(10**13, 10**19)
# Letters of names whose values are secrets, wherever they stand in the name, or only at its end; and whole words.
ANYWHERE = ("password", "passwd", "passphrase", "passcode", "credential", "authorization", "apikey", "privatekey")
AT_END = {
    "secret": "secret", "secrets": "secret", "token": "token", "tokens": "token", "cookie": "cookie", "cookies": "cookie",
    "accesskey": "key", "secretkey": "key", "signingkey": "key", "encryptionkey": "key", "accesskeys": "key",
    "secretkeys": "key", "signingkeys": "key", "encryptionkeys": "key", "sessionid": "session",
    "accountkey": "key", "sharedkey": "key", "masterkey": "key", "hmackey": "key", "sshkey": "key",
}  # fmt: skip
WORDS = {name: name for name in ("secret", "pwd", "pw", "creds", "bearer", "jwt", "cvv", "cvc", "otp", "pin")} | {
    "cookie": "cookie"
}
LETTERS = ("pass", "pw", "secret", "token", "cred", "authorization", "cookie", "key", "session", "bearer", "jwt", "cvv", "cvc", "otp", "pin")  # fmt: skip
_FAILURE = re.compile(r"[a-z](Error|Exception)\Z")  # a class: what follows NoCredentialsError is its message
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


Row = TypeVar("Row", bound=Any)


class Redactor:
    """Removes secrets: the usual ones, and those that a user's names, dotted paths (`card.number`) and choice of patterns add."""

    def __init__(self, names: Iterable[str] = (), patterns: Iterable[str] = ("default",)) -> None:
        names, chosen = tuple(names), tuple(patterns)
        chosen += DEFAULT if "default" in chosen else ()
        self.on = names != OFF
        self._paths = {_words(name): name for name in names}
        self._patterns = [(PATTERNS[name], f"{MARK}{name}]") for name in PATTERNS if name in chosen]
        hints = [needle for pattern, _ in self._patterns for needle in pattern.needles]
        gates = [next((gate for gate in GATES if gate in needle), "") for needle in hints]
        self._hints = tuple(
            (gate, tuple(needle for needle, its in zip(hints, gates, strict=True) if its == gate))
            for gate in (*GATES, "")
        )
        self._bare = tuple(pattern.hint for pattern, _ in self._patterns if not pattern.needles)
        self._letters = tuple(dict.fromkeys((*LETTERS, *(each.split("_")[-1] for each in self._paths))))
        self.kind = lru_cache(4096)(self._kind)
        self.known: set[str] = set()  # texts of log lines that have no secret, see `worker.packed_lines`

    def suspects(self, text: str) -> bool:
        """Whether a text may hold a secret. It is fast; only a False is certain."""
        if not self.on:
            return False
        lowered = text.casefold()
        for gate, hints in self._hints:
            if gate in text and _has(lowered, hints):
                return True
        if named_secrets.may_name(text) and _has(lowered, self._letters):
            return True
        return len(text) > 13 and any([_compiled(hint).search(text) for hint in self._bare])  # noqa: C419  (a list is faster here)

    def suspects_json(self, text: str) -> bool:
        """Whether a JSON text may hold a secret. Letters may be written as numbers in it."""
        return self.suspects(text) or (self.on and "\\u" in text)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        if not self.suspects(text):
            return text
        for pattern, mark in self._patterns:
            if not pattern.needles or _has(text.casefold(), pattern.needles):
                text = _compiled(pattern.regex).sub(_replacing(pattern.shown, pattern.check, mark), text)
        return named_secrets.without(text, _any_of(self._letters), self.kind)

    def named(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where the values stand that a text gives by the name of a secret (`password=…`), and what they are."""
        return named_secrets.values(text, _any_of(self._letters), self.kind)

    def value(self, value: Any) -> Any:
        """Return a JSON value without the secrets in it."""
        return self._value(value, "", 0) if self.on else value

    def json(self, text: str) -> str:
        """Return a JSON text without the secrets in it: unchanged if it has none."""
        if not self.suspects_json(text):
            return text
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        found = self.value(given)
        return text if found == given else json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def record(self, row: Row) -> Row:
        """Return a row of a store (`core.export`, `core.job`) without the secrets in its texts and in its JSON."""
        given = row._asdict()
        changed = {name: self._column(name, given[name]) for name in (*TEXTS, *JSON) if given.get(name) is not None}
        found: Row = row._replace(**changed)
        return found

    def _column(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self.value(value)
        return self.json(value) if name in JSON else self.text(value)

    def _value(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._mapping(value, path, depth + 1) if depth < DEEPEST else f"{MARK}depth]"
        if isinstance(value, list | tuple):
            if depth >= DEEPEST:
                return f"{MARK}depth]"
            if value and all(map(_is_pair, value)):  # as an ASGI server and httpx have headers
                return [self._pair(name, each, path, depth + 1) for name, each in value]
            return [self._value(each, path, depth + 1) for each in value]
        if isinstance(value, int) and value in CARD_NUMBERS:
            shown = self.text(str(value))
            return value if shown == str(value) else shown
        return value

    def _pair(self, name: str, value: Any, path: str, depth: int) -> list[Any]:
        found = self._mapping({name: value}, path, depth + 1)
        return [*found, *found.values()]

    def _mapping(self, given: dict[Any, Any], path: str, depth: int) -> dict[Any, Any]:
        named = self._named(given)
        found = {}
        for name, value in given.items():
            kind = self.kind(f"{path}.{name}" if path and self._paths else str(name))
            kind = named.get(name, kind)  # {"name": "Authorization", "value": …}
            hidden = kind is not None and is_secret(kind, value)
            shown = self.text(name) if isinstance(name, str) and len(name) >= SHORTEST else name
            found[shown] = f"{MARK}{kind}]" if hidden else self._value(value, f"{path}.{name}"[-200:], depth)
        return found

    def _named(self, given: dict[Any, Any]) -> dict[str, str]:
        """Return the fields of a mapping whose name is the value of another field, if it is that of a secret."""
        for field, values in NAMED.items():
            name = given.get(field)
            kind = self.kind(name) if isinstance(name, str) and "kind" not in given else None
            if kind is not None:
                return dict.fromkeys(values, kind)
        return {}

    def _kind(self, name: str) -> str | None:
        """Return what a value of that name is, if it is a secret. A name may be a path; without paths of the user, its end decides."""
        own = next((given for words, given in self._paths.items() if _ends(words, name[-300:])), None)
        if own is not None:
            return own
        if _FAILURE.search(name):
            return None
        last = _words(name.rpartition(".")[2][:100])
        flat = last.replace("_", "")
        if flat == A_WORD:
            return A_WORD
        found = next((word for word in ANYWHERE if word in flat), None)
        found = found or next((kind for end, kind in AT_END.items() if flat.endswith(end)), None)
        return found or next((WORDS[word] for word in last.split("_") if word in WORDS), None)


def is_secret(kind: str, value: Any) -> bool:
    """Whether a value under such a name has to go. A number called token is a count; an empty text or a flag tells nothing."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return False
    return kind not in COUNTS or not isinstance(value, int | float)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)


def _ends(words: str, name: str) -> bool:
    """Whether a user's name or path is at the end of a path: in its last name, or over its last ones."""
    last = f"_{_words(name.rpartition('.')[2])}_"
    return f"_{words}_" in last or f"_{_words(name)}".endswith(f"_{words}")


@lru_cache(4096)
def _words(name: str) -> str:
    """Return the words of a name, however they are written: `cardNumber`, `card-number` and `card.number` are `card_number`."""
    return "_".join(_WORD.findall(name)).casefold()


def _has(text: str, needles: tuple[str, ...]) -> bool:
    for needle in needles:  # noqa: SIM110  (a generator would cost more than the search: this is on the path of each log line)
        if needle in text:
            return True
    return False


def _replacing(shown: str, check: Callable[[re.Match[str]], bool], mark: str) -> Callable[[re.Match[str]], str]:
    form = shown.replace("{mark}", mark)
    return lambda found: found.expand(form) if check(found) else found[0]


@lru_cache(64)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


@lru_cache(16)
def _any_of(needles: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("(?i)" + "|".join(map(re.escape, needles)))


_in_force: Redactor | None = None


def use(redactor: Redactor) -> None:
    """Let this process redact so from now on."""
    global _in_force  # noqa: PLW0603  (one process has one answer to what is a secret)
    _in_force = redactor


def in_force() -> Redactor:
    """Return the redactor of this process; before any was chosen, the usual one. `mainstay.redacting` chooses by the settings."""
    return _in_force or Redactor()


def restored(edited: Any, original: Any, redactor: Redactor) -> Any:
    """Return what a person made of a redacted value, with the original behind each mark that was left where it was."""
    found = _merged(edited, redactor.value(original), original)
    if MARK in json.dumps(found) and MARK not in json.dumps(original):
        raise UsageError(f"a mark ({MARK}…]) stands where it stood for nothing: write the value itself there")
    return found


def _merged(edited: Any, shown: Any, original: Any) -> Any:
    if edited == shown:
        return original
    if type(shown) is not type(original):  # it was hidden whole, and another value stands there now
        return edited
    if isinstance(edited, dict) and isinstance(original, dict):
        return {
            name: _merged(value, shown[name], original[name]) if name in original and name in shown else value
            for name, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(original, list):
        if len(edited) == len(original):
            return [_merged(*each) for each in zip(edited, shown, original, strict=True)]
        return [original[shown.index(each)] if each in shown else each for each in edited]
    return edited
