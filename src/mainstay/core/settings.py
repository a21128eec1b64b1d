"""The settings: one set of fields, checked, and for every value where it came from. `settings_file.py` finds them.

A misspelled setting is an error: one that silently does nothing is worse than none.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .clock import milliseconds
from .errors import ConfigError
from .masking import masked
from .secret_patterns import PATTERNS
from .suggest import did_you_mean
from .updates import LEVELS, LogLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .clock import Duration

    Source = Mapping[str, tuple[Any, str]]

PREFIX = "MAINSTAY_"
ARGUMENT = "argument"
KEYS = "MAINSTAY_ENCRYPTION_KEYS"  # no setting: keys stand in no file, and `mainstay config` does not show them


class Settings(NamedTuple):
    """Everything that can be configured from outside the code."""

    url: str = ""
    read_url: str = ""
    app: str = ""
    queues: tuple[str, ...] = ()
    concurrency: int = 50
    processes: int = 1
    lease: Duration | None = None
    grace: Duration = "30s"
    poll: Duration = "1s"
    audit_keep: Duration = "365d"
    stats_keep: Duration = "30d"
    archive: str = ""
    stuck_after: Duration = "5m"
    reconcile: int = 10_000
    log_level: str = "info"
    log_format: str = "text"
    events: bool = False
    job_log_level: str = LogLimits().level
    job_log_lines: int = LogLimits().lines
    job_log_size: int = LogLimits().characters
    alerts: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    redact: tuple[str, ...] = ()
    redact_patterns: tuple[str, ...] = ("default",)
    sources: Mapping[str, str] = MappingProxyType({})

    def explain(self) -> list[tuple[str, Any, str]]:
        """Return each field with its value and its source; passwords are masked, and of channels only the kind is shown."""
        channels = tuple(f"{name} ({spec.get('kind', '?')})" for name, spec in self.alerts.items())
        shown = self._asdict() | {"url": masked(self.url), "read_url": masked(self.read_url), "alerts": channels}
        return [(field, shown[field], self.sources.get(field, "default")) for field in FIELDS]

    def __repr__(self) -> str:
        given = ", ".join(f"{field}={value!r}" for field, value, source in self.explain() if source != "default")
        return f"Settings({given})"


def from_sources(*sources: Source) -> Settings:
    """Return the settings; the first source that names a field wins."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for source in sources:
        for field, (value, origin) in source.items():
            if field not in values:
                values[field], origins[field] = _parsed(field, value, origin), origin
    return Settings(**values, sources=MappingProxyType(origins))


# Sources: each returns {field: (value, where it comes from)}


def from_mapping(given: Mapping[str, Any], origin: str) -> Source:
    """Return the settings of a file's table, or of the arguments of a call, where None counts as not given."""
    for name in given:
        if name not in FIELDS:
            where = "" if origin == ARGUMENT else f"{origin}: "
            near, known = did_you_mean(name, FIELDS), ", ".join(FIELDS)
            raise ConfigError(f'{where}there is no setting "{name}"{near}; there are: {known}')
    return {field: (value, origin) for field, value in given.items() if value is not None}


def from_variables(environ: Mapping[str, str]) -> Source:
    """Return the settings among the environment variables."""
    known = {PREFIX + field.upper(): field for field in FIELDS}
    found: dict[str, tuple[Any, str]] = {}
    for name, value in environ.items():
        if name in known:
            if value:  # set but empty, as in a compose file: not set
                found[known[name]] = (value, f"environment {name}")
        # Of the tests, or set by Kubernetes for a service called mainstay: no setting.
        elif name.startswith(PREFIX) and not (
            name == KEYS or name.startswith(PREFIX + "TEST_") or "_SERVICE_" in name or "_PORT" in name
        ):
            near = did_you_mean(name, known)
            raise ConfigError(f"{name} is set, but there is no such setting{near}; there are: {', '.join(known)}")
    return found


# Values: each function returns the value as it is used, or raises ValueError with what is allowed


def _parsed(field: str, value: Any, source: str) -> Any:
    parse, _ = FIELDS[field]
    try:
        return parse(value)
    except (ValueError, TypeError) as error:
        shown = masked(value) if isinstance(value, str) else value
        given = "" if field == "alerts" else f" = {shown!r}"  # which may hold secrets
        raise ConfigError(f"{field}{given} ({source}): {error}") from None


def _url(value: Any) -> str:
    if not isinstance(value, str) or not value.partition("://")[2]:
        raise ValueError("give a URL: sqlite:///jobs.db, postgresql://host/name or redis://host")
    return value


def _replica(value: Any) -> str:
    if not _url(value).startswith(("postgresql", "postgres")):
        raise ValueError("give the URL of a PostgreSQL replica: postgresql://host/name")
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("give some text")
    return value.strip()


def _names(value: Any) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) and name.strip() for name in given):
        raise ValueError('give names: "mail,reports" in a variable, ["mail", "reports"] in a file')
    return tuple(dict.fromkeys(name.strip() for name in given))


def _redact(value: Any) -> tuple[str, ...]:
    """Return names and paths; `off` alone, or false in a file, switches redaction off."""
    given = ("off",) if value is False else _names(value)
    if "off" in given and len(given) > 1:
        raise ValueError('give names and paths, or "off" alone')
    return given


def _patterns(value: Any) -> tuple[str, ...]:
    given = _names(value)
    for name in given:
        if name not in PATTERNS and name != "default":
            near, known = did_you_mean(name, PATTERNS), ", ".join(PATTERNS)
            raise ValueError(f"there is no pattern {name!r}{near}; there are: default, {known}")
    return given


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"give a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


def _wait(value: Any) -> Duration:
    try:
        milliseconds(value)
    except ValueError:  # its message would repeat the value
        raise ValueError('give a duration: "250ms", "90s", "5m", "2h", "3d"') from None
    given: Duration = value
    return given


def _duration(value: Any) -> Duration:
    if milliseconds(_wait(value)) <= 0:
        raise ValueError("give a duration above zero")
    return _wait(value)


def _channels(value: Any) -> dict[str, dict[str, Any]]:
    """Return channels of alerts by name. What a channel needs is checked when it is used: here are no kinds of them."""
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value)
        except ValueError:  # its message may show a part of a secret
            value = None
    if not isinstance(value, dict) or not all(isinstance(spec, dict) and "kind" in spec for spec in value.values()):
        raise ValueError(
            'give channels by name, each with a kind: [alerts.ops] in a file, {"ops": {"kind": …}} in a variable'
        )
    return value


def _switch(value: Any) -> bool:
    words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    found = value if isinstance(value, bool) else words.get(str(value).strip().lower())
    if found is None:
        raise ValueError("give true or false")
    return found


def _one_of(*words: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in words:
            raise ValueError(f"give one of {', '.join(words)}{did_you_mean(word, words)}")
        return word

    return parse


FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "url": (_url, "The store: `sqlite:///jobs.db` (in a settings file: beside it), `postgresql://…`, `redis://…`"),
    "read_url": (
        _replica,
        "A replica of a PostgreSQL store, for commands and searches that only look: `postgresql://…`",
    ),
    "app": (_text, "Your application, `module:app`, for the commands that run your code"),
    "queues": (_names, "The queues a worker serves, in this order; none named: those of its types"),
    "concurrency": (_whole(1, 10_000), "Jobs that run at the same time in a worker process"),
    "processes": (_whole(1, 1_000), "Worker processes that `mainstay worker` keeps running"),
    "lease": (_duration, "How long a silent worker is believed to be alive; none given: what suits the engine"),
    "grace": (_wait, "How long running jobs may go on when a worker is told to stop"),
    "poll": (_duration, "How often a worker looks for jobs that nobody announced"),
    "audit_keep": (_duration, "How long the audit trail keeps what operators did"),
    "stats_keep": (_duration, "How long `mainstay stats` can look back, by the hour"),
    "archive": (
        _text,
        "Where jobs go before retention removes them: a folder (in a settings file: beside it), or `s3://bucket/prefix`",
    ),
    "stuck_after": (_duration, "How long a job may run before `mainstay stuck` lists it"),
    "reconcile": (
        _whole(0, 10_000_000),
        "Ended jobs that a worker looks at when it starts, the last ones, to check those whose type has `verify=`; 0: none",
    ),
    "log_level": (_one_of(*LEVELS), "The least severe log lines that are written"),
    "log_format": (_one_of("text", "json"), "Log lines for people (`text`) or for machines (`json`)"),
    "events": (_switch, "Whether a worker prints the life of each job on stdout, as lines of JSON"),
    "job_log_level": (
        _one_of(*LEVELS, "off"),
        "The least severe records of `logging` that land in the log of the job that makes them; `off`: none do",
    ),
    "job_log_lines": (_whole(1, 10_000_000), "Lines that the log of a job keeps of one attempt"),
    "job_log_size": (_whole(1_000, 1_000_000_000), "Characters that the log of a job keeps of one attempt"),
    "alerts": (
        _channels,
        "The channels that carry notices of alerts: tables such as `[alerts.ops]`, or a JSON object in the variable; see [Get alerts](../how-to/alerts.md)",
    ),
    "redact": (
        _redact,
        'Names and paths whose values are secrets, beside the usual ones: `["ssn", "card.number"]`; `off`: nothing is redacted',
    ),
    "redact_patterns": (
        _patterns,
        'Texts that are secrets wherever they stand: `["default", "mail"]`; `default` stands for those that are redacted if nothing is said',
    ),
}
