"""Removes personal data and secrets from a text, and puts placeholders in their place: `[EMAIL_1]`, `[PHONE_2]`.

`sanitize(text)` is a function; `register(app)` makes it a job type. The same value has the same placeholder within one text, and
no list of what a placeholder stands for is kept. To sanitize twice changes nothing more.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import ConfigError, Permanent
from ..core.redaction import Redactor
from ..core.secret_patterns import PATTERNS, is_account_number, is_card_number
from ..core.suggest import did_you_mean
from .disguises import PLAIN, WRITTEN, as_read
from .extras import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Unpack

    from .. import Mainstay
    from ..job_decorator import TypeOptions
    from ..registry import JobType

    Detector = Callable[[str], Iterable[tuple[int, int, str]]]  # of a text: start, end and kind of what it finds

# Of spans that overlap, the longest wins, and of equal ones the kind that stands first here. Two kinds come before all others: what they
# find has letters in it that look like something else.
KINDS = ("pem", "credential", "token", "key", "email", "iban", "card", "ip", "phone", "name", "secret")
WHOLE = ("pem", "credential")
MAX_CHARS = 10_000_000
FILLER = "\ufffc"  # stands for placeholders and for the colours of a terminal while the text is looked at; no rule takes it for a letter, a digit or a space
WINDOW, OVERLAP = 2_000, 100  # characters of a line that are given to the search for telephone numbers at once

_PLACEHOLDER = re.compile(r"\[([A-Z][A-Z_]{0,29})_(\d{1,6})\]")
_PASSED = re.compile(_PLACEHOLDER.pattern + r"|\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DISGUISED = re.compile(  # ada (at) example (dot) org
    r"(?i)(?<![\w.+-])[\w.+-]{1,64}[ \t]?[\[({][ \t]?at[ \t]?[\])}][ \t]?[\w-]{1,63}"
    r"(?:[ \t]?(?:\.|[\[({][ \t]?dot[ \t]?[\])}])[ \t]?[\w-]{1,63}){1,8}"
)
_PART = re.compile(r"\w+|\s{1,3}|.", re.DOTALL)  # of a text in which names are looked for
_KIND = re.compile(r"[a-z][a-z_]{0,29}")
_DIGITS = re.compile(r"(?<![\w.])\d(?:(?:\r\n|[ \t]{1,2}|[.\n-])?+\d){12,}+")
_GROUP = re.compile(r"\d+")
_FORMATS = ((4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4))  # of the digits of a card, in groups
_SOLID = range(13, 20)  # digits of a card without groups
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IPV4 = re.compile(rf"(?<![\w.])(?:{_BYTE}\.){{3}}{_BYTE}(?!\w|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:]|\.\d)"
)
_NUMBER = re.compile(r"(?:\d[^\d\n]{0,5}){6}\d")  # a text without this has no telephone number
# A name: two or three capitalised words; in front of an address, or behind words that introduce one.
_WORD = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{1,30}"
_PERSON = rf"{_WORD}(?:[ \t]{_WORD}){{1,2}}"
_BESIDE = re.compile(rf"(?<!\w)({_PERSON})[ \t]{{1,3}}[<(](?=[\w.+-]{{1,64}}@|{FILLER})")
_AFTER = re.compile(
    rf"(?:\b(?i:my name is|author:|written by|signed[- ]off[- ]by:|reviewed[- ]by:)[ \t]{{1,3}}|^(?i:(?:(?:best|kind|warm) )?regards|sincerely|cheers),[ \t]*\n[ \t]{{0,3}})({_WORD}(?:[ \t]{_WORD}){{0,2}})(?!\w)",
    re.MULTILINE,
)


class Span(NamedTuple):
    """Something to hide: where it stands, what it is, and what makes it the same as another (spelling does not)."""

    start: int
    end: int
    kind: str
    value: str


class Sanitized(NamedTuple):
    """A text with placeholders, and how many stand in it, by kind."""

    text: str
    report: dict[str, int]


def sanitize(
    text: str, *, names: Iterable[str] = (), regions: Iterable[str] = (), kinds: Iterable[str] = KINDS,
    detect: Detector | None = None,
) -> Sanitized:  # fmt: skip
    """Return a text without personal data and secrets, and a report by kind.

    `names` are people to hide, spelled as given. `regions` (`["US", "DE"]`) are the countries whose telephone numbers are found without
    their `+49`. `kinds` are those to look for. `detect` is a function of yours that returns (start, end, kind) of what it finds.
    """
    return Sanitizer(names, regions, kinds, detect)(text)


class Sanitizer:
    """The rules, checked once, for many texts."""

    def __init__(
        self, names: Iterable[str] = (), regions: Iterable[str] = (), kinds: Iterable[str] = KINDS,
        detect: Detector | None = None,
    ) -> None:  # fmt: skip
        self.names, self.kinds, self.detect = _checked_names(names), _checked_kinds(kinds), detect
        self.regions = _checked_regions(regions) if "phone" in self.kinds else ()
        self._redactor = Redactor()

    def __call__(self, text: str) -> Sanitized:
        """Return the text without what is found, looking again until nothing more is."""
        places = _Placeholders(text)
        while spans := self.find(text):
            text = places.put(text, spans)
        return Sanitized(text, places.report())

    def find(self, text: str) -> list[Span]:
        """Return what is to be hidden, from left to right; of spans that overlap, one."""
        seen = _filled(_PASSED, text)
        taken, chosen = bytearray(len(seen)), []
        for span in sorted(
            (*self._candidates(seen), *self._written(text)),
            key=lambda span: (span.kind not in WHOLE, span.start - span.end),
        ):
            if taken.find(1, span.start, span.end) < 0 and seen[span.start : span.end].strip(FILLER):
                taken[span.start : span.end] = b"\1" * (span.end - span.start)
                chosen.append(span)
        return sorted(chosen)

    def _written(self, text: str) -> Iterator[Span]:
        """Yield what stands in a text if it is read as other programs do; nothing if they read the same."""
        if not WRITTEN.search(text):
            return
        plain, starts, ends = as_read(_filled(_PLACEHOLDER, text))
        for span in self._candidates(plain):
            yield span._replace(start=starts[span.start], end=ends[span.end - 1])

    def _candidates(self, text: str) -> Iterator[Span]:
        rules: dict[str, Callable[[str], Iterator[tuple[int, int, str]]]] = {
            "pem": partial(_patterned, ("pem",)),
            "credential": _credentials,
            "token": partial(_patterned, ("jwt", "bearer", "basic")),
            "key": partial(_patterned, ("aws", "github", "gitlab", "slack", "openai", "stripe", "mainstay", "google")),
            "email": _mails,
            "iban": _accounts,
            "card": _cards,
            "ip": _addresses,
            "phone": partial(_phones, self.regions),
            "name": partial(_people, self.names),
            "secret": lambda text: ((start, end, text[start:end]) for start, end, _ in self._redactor.named(text)),
        }
        for kind in self.kinds:
            yield from (Span(start, end, kind, value) for start, end, value in rules[kind](text))
        for start, end, kind in self.detect(text) if self.detect else ():
            if 0 <= start < end <= len(text):
                yield Span(start, end, _checked_kind(kind), text[start:end])


class _Placeholders:
    """Numbers the values of a text, by kind, above the numbers that stand in it already."""

    def __init__(self, text: str) -> None:
        self._last: dict[str, int] = {}
        self._known: dict[tuple[str, str], str] = {}
        self._count: dict[str, int] = {}
        for kind, number in _PLACEHOLDER.findall(text):
            self._last[kind.lower()] = max(self._last.get(kind.lower(), 0), int(number))

    def put(self, text: str, spans: Sequence[Span]) -> str:
        """Return the text with a placeholder for each span."""
        parts, copied = [], 0
        for span in spans:
            parts += [text[copied : span.start], self._of(span)]
            copied = span.end
        return "".join([*parts, text[copied:]])

    def _of(self, span: Span) -> str:
        self._count[span.kind] = self._count.get(span.kind, 0) + 1
        found = self._known.get((span.kind, span.value))
        if found is None:
            number = self._last[span.kind] = self._last.get(span.kind, 0) + 1
            found = self._known[span.kind, span.value] = f"[{span.kind.upper()}_{number}]"
        return found

    def report(self) -> dict[str, int]:
        """Return how many values were replaced, by kind."""
        return dict(sorted(self._count.items()))


# settings ------------------------------------------------------------------------------------------------------------------
def _checked_kind(kind: object) -> str:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ConfigError(
            f"detect: the kind {kind!r:.40} is not valid: give up to 30 lower-case letters, such as 'place'"
        )
    return kind


def _checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    given = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in given:
        if kind not in KINDS:
            raise ConfigError(
                f"kinds: there is no {kind!r}{did_you_mean(str(kind), KINDS)}; there are: {', '.join(KINDS)}"
            )
    if not given:
        raise ConfigError(f"kinds: give one or more of: {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in given)


def _checked_names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigError(f"names is a text: give a list, names=[{names!r:.40}]")
    given: tuple[Any, ...] = tuple(names)
    for name in given:
        if not isinstance(name, str) or len(name.split()) == 0 or len(name.strip()) < 2:
            raise ConfigError(f"names: {name!r:.40} is no name: give texts of two letters or more")
    return given


def _checked_regions(regions: Iterable[str]) -> tuple[str | None, ...]:
    needed("phonenumbers", "sanitize", "sanitize")
    from phonenumbers import SUPPORTED_REGIONS

    given = (regions,) if isinstance(regions, str) else tuple(regions)
    for region in given:
        if region not in SUPPORTED_REGIONS:
            near = did_you_mean(str(region), SUPPORTED_REGIONS)
            raise ConfigError(
                f"regions: there is no region {region!r}{near}: give codes of countries, such as US or DE"
            )
    return given or (None,)


def _filled(passed: re.Pattern[str], text: str) -> str:
    """Return a text of the same length in which nothing is found in what is passed over; wide characters and spaces are plain ones."""
    return passed.sub(lambda found: FILLER * len(found[0]), text).translate(PLAIN)


# rules ---------------------------------------------------------------------------------------------------------------------
def _patterned(names: Sequence[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what the patterns of these names find; what their first group keeps, as the word Bearer, is not part of it."""
    for found in _matches(names, text):
        start = found.end(1) if found.re.groups else found.start()
        value = text[start : found.end()]
        yield start, found.end(), value.casefold() if names == ("mail",) else value


def _mails(text: str) -> Iterator[tuple[int, int, str]]:
    yield from _patterned(("mail",), text)
    for found in _DISGUISED.finditer(text):
        yield *found.span(), found[0].casefold()


def _credentials(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield users and passwords in URLs."""
    for found in _matches(("url",), text):
        start, end = found.start() + len("://"), found.end() - 1
        yield start, end, text[start:end]


def _matches(names: Sequence[str], text: str) -> Iterator[re.Match[str]]:
    lowered = text.casefold()
    for pattern in (PATTERNS[name] for name in names):
        if not pattern.needles or any(needle in lowered for needle in pattern.needles):
            yield from filter(pattern.check, re.finditer(pattern.regex, text))


def _accounts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield account numbers. A word behind one looks like its last group: then it is left out."""
    for found in re.finditer(PATTERNS["iban"].regex, text):
        given = found[0]
        ends = [len(given), *(place for place in range(len(given) - 1, 14, -1) if given[place] == " ")]
        end = next((end for end in ends if is_account_number(given[:end])), None)
        if end:
            yield found.start(), found.start() + end, given[:end].replace(" ", "")


def _cards(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield card numbers, also beside other digits, such as the date to which a card is valid."""
    for found in _DIGITS.finditer(text):
        groups = list(_GROUP.finditer(text, found.start(), found.end()))
        if text[found.end() : found.end() + 1].isalnum():
            groups.pop()
        for start, end in _runs(groups):
            if is_card_number(text[start:end]):
                yield start, end, re.sub(r"\D", "", text[start:end])


def _runs(groups: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield where digits stand that are grouped as those of cards are; or all of them, if they are not too many."""
    sizes = [found.end() - found.start() for found in groups]
    if len(groups) > 1 and sum(sizes) in _SOLID:
        yield groups[0].start(), groups[-1].end()
    for place, found in enumerate(groups):
        if sizes[place] in _SOLID:
            yield found.span()
        for form in _FORMATS:
            if tuple(sizes[place : place + len(form)]) == form:
                yield found.start(), groups[place + len(form) - 1].end()


def _addresses(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield IP addresses; those that every machine has (127.0.0.1, ::1, 0.0.0.0) tell nothing."""
    from ipaddress import ip_address

    for found in (*_IPV4.finditer(text), *(_IPV6.finditer(text) if ":" in text else ())):
        try:
            address = ip_address(found[0])
        except ValueError:
            continue
        if not (address.is_loopback or address.is_unspecified) and (address.version == 4 or _is_written_out(found[0])):
            yield found.start(), found.end(), address.compressed


def _is_written_out(text: str) -> bool:
    """Whether an IPv6 address has two groups or more: `::2` is a slice in Python."""
    return len([group for group in text.split(":") if group]) > 1


def _phones(regions: Sequence[str | None], text: str) -> Iterator[tuple[int, int, str]]:
    """Yield telephone numbers, line by line: the library gives up in a long text."""
    from phonenumbers import Leniency, PhoneNumberFormat, PhoneNumberMatcher, format_number

    for start, line in _windows(text):
        for region in regions if _NUMBER.search(line) else ():
            for found in PhoneNumberMatcher(line, region, leniency=Leniency.STRICT_GROUPING):
                number = format_number(found.number, PhoneNumberFormat.E164)
                yield start + found.start, start + found.end, number


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text and where they begin; long ones in parts that overlap."""
    place = 0
    for line in text.splitlines(keepends=True):
        for part in range(0, max(len(line) - OVERLAP, 1), WINDOW - OVERLAP):
            yield place + part, line[part : part + WINDOW]
        place += len(line)


def _people(names: Sequence[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the given names, and those that stand in front of an address or behind words that introduce them, wherever they stand."""
    introduced = [found[1] for rule in (_BESIDE, _AFTER) for found in rule.finditer(text)]
    tree: dict[str, Any] = {}
    for name in (*names, *introduced):
        node = tree
        for part in _PART.findall(" ".join(name.split())):
            node = node.setdefault(part, {})
        node[""] = {}
    for found in _PART.finditer(text) if tree else ():
        if found[0] in tree and (end := _end_of_name(tree, text, found.start())):
            yield found.start(), end, " ".join(text[found.start() : end].split())


def _end_of_name(tree: dict[str, Any], text: str, place: int) -> int:
    """Return where the longest name ends that starts here; 0: none does. A tree, as thousands of names in a pattern would take minutes."""
    end, node = 0, tree
    while found := _PART.match(text, place):
        node = node.get(" " if found[0].isspace() else found[0], {})
        if not node:
            break
        place = found.end()
        end = place if "" in node else end
    return end


# the job type --------------------------------------------------------------------------------------------------------------
class Registered(NamedTuple):
    """The job types of this module."""

    sanitize: JobType[[str], dict[str, Any], dict[str, Any]]


def register(
    app: Mainstay, *, names: Iterable[str] = (), regions: Iterable[str] = (), kinds: Iterable[str] = KINDS,
    detect: Detector | None = None, **options: Unpack[TypeOptions],
) -> Registered:  # fmt: skip
    """Register the job type `sanitize`; its result is {"text": …, "report": {"email": 2}}.

    The settings are those of the function; `options` are those of any job type.
    """
    rules = Sanitizer(names, regions, kinds, detect)

    def sanitize(text: str) -> dict[str, Any]:
        """Remove personal data and secrets from a text."""
        if len(text) > MAX_CHARS:
            raise Permanent(f"the text has {len(text):,} characters, the limit is {MAX_CHARS:,}: split it")
        return rules(text)._asdict()

    return Registered(app.job(**options)(sanitize))
