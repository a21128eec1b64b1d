"""Configuration: one set of fields, one spelling each, and for every value where it came from.

The first source that names a field wins: arguments, `MAINSTAY_…` variables, the nearest `mainstay.toml` or
`[tool.mainstay]` in a `pyproject.toml` (from the current folder upwards), defaults. What is misspelled is an error:
a setting that silently does nothing is worse than none.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .clock import milliseconds
from .errors import ConfigError
from .suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .clock import Duration

PREFIX = "MAINSTAY_"
FILE, PROJECT = "mainstay.toml", "pyproject.toml"


class Settings(NamedTuple):
    """Everything that can be configured from outside the code. Frozen; `Settings.load()` finds it."""

    url: str = ""
    app: str = ""
    queues: tuple[str, ...] = ()
    concurrency: int = 50
    processes: int = 1
    lease: Duration | None = None
    grace: Duration = "30s"
    poll: Duration = "1s"
    log_level: str = "info"
    log_format: str = "text"
    sources: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def load(cls, **arguments: Any) -> Settings:
        """The settings in force here; an argument that is None counts as not given. `ConfigError` names what is wrong."""
        return read(arguments, os.environ, os.getcwd())

    def explain(self) -> list[tuple[str, Any, str]]:
        """Each field with its value and the source it was taken from; passwords masked."""
        shown = self._asdict() | {"url": masked(self.url)}
        return [(field, shown[field], self.sources.get(field, "default")) for field in FIELDS]

    def __repr__(self) -> str:
        given = ", ".join(f"{field}={value!r}" for field, value, source in self.explain() if source != "default")
        return f"Settings({given})"


def read(arguments: Mapping[str, Any], environ: Mapping[str, str], folder: str) -> Settings:
    """The settings made of these arguments, these variables and the file nearest to this folder."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for given in (_arguments(arguments), _variables(environ), _file(folder)):
        for field, (value, source) in given.items():
            if field not in values:
                values[field], sources[field] = _parsed(field, value, source), source
    return Settings(**values, sources=MappingProxyType(sources))


def reference() -> str:
    """The table of settings for the docs, in Markdown."""
    rows = ["| argument, key in the file | variable | default | meaning |", "|---|---|---|---|"]
    for field, (_, meaning) in FIELDS.items():
        default = Settings._field_defaults[field]
        shown = f"`{default:,}`" if isinstance(default, int) else f"`{default}`" if default else "–"
        rows.append(f"| `{field}` | `{PREFIX}{field.upper()}` | {shown} | {meaning} |")
    return "\n".join(rows)


def masked(url: str) -> str:
    """A URL that may be shown: without its password."""
    url = re.sub("(password=)[^&]*", r"\1***", url)
    scheme, mark, rest = url.partition("://")
    user, at, host = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{scheme}{mark}{name}:***{at}{host}" if colon else url


# Sources: each answers {field: (value, where it stands)}


def _arguments(given: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    _check_names(given, "")
    return {field: (value, "argument") for field, value in given.items() if value is not None}


def _variables(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    known = {PREFIX + field.upper(): field for field in FIELDS}
    found: dict[str, tuple[Any, str]] = {}
    for name, value in environ.items():
        if name in known:
            if value:  # set but empty, as in a compose file: not set
                found[known[name]] = (value, f"environment {name}")
        elif name.startswith(PREFIX) and not _foreign(name):
            near = did_you_mean(name, known)
            raise ConfigError(f"{name} is set, but there is no such setting{near}; there are: {', '.join(known)}")
    return found


def _foreign(name: str) -> bool:
    """Variables that are no settings: those of the tests, and those that Kubernetes sets for a service called mainstay."""
    return name.startswith(PREFIX + "TEST_") or "_SERVICE_" in name or "_PORT" in name


def _file(folder: str) -> dict[str, tuple[Any, str]]:
    found = _nearest_file(folder)
    if found is None:
        return {}
    path, table = found
    source = f"{path} [tool.mainstay]" if path.endswith(PROJECT) else path
    _check_names(table, f"{source}: ")
    if isinstance(table.get("url"), str):
        table["url"] = _anchored(table["url"], os.path.dirname(path))
    return {key: (value, source) for key, value in table.items()}


def _check_names(given: Mapping[str, Any], where: str) -> None:
    for name in given:
        if name not in FIELDS:
            near, known = did_you_mean(name, FIELDS), ", ".join(FIELDS)
            raise ConfigError(f'{where}there is no setting "{name}"{near}; there are: {known}')


def _nearest_file(folder: str) -> tuple[str, dict[str, Any]] | None:
    here = os.path.abspath(folder)
    while True:
        for name in (FILE, PROJECT):
            table = _table(os.path.join(here, name), name == PROJECT)
            if table is not None:
                return os.path.join(here, name), table
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _table(path: str, project: bool) -> dict[str, Any] | None:
    """The settings in a file; None when there is no such file, or when it is a project's that does not speak of us."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        if not os.path.isfile(path):
            return None
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if project and b"mainstay" not in content:
        return None
    table = _toml(content, path)
    if not project:
        return table
    tool = table.get("tool")
    own = tool.get("mainstay") if isinstance(tool, dict) else None
    return own if isinstance(own, dict) else None


def _toml(content: bytes, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(content.decode())
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def _anchored(url: str, folder: str) -> str:
    """A relative database in a settings file lies beside that file, from whichever folder it is read."""
    path = url.removeprefix("sqlite:///")
    if path == url or path.startswith(("/", ":", "~")) or path[1:3] in (":/", ":\\"):
        return url
    folder = folder.replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{os.path.join(folder, path)}"


# Values: each function answers the value as it is used, or raises ValueError with what is allowed


def _parsed(field: str, value: Any, source: str) -> Any:
    parse, _ = FIELDS[field]
    try:
        return parse(value)
    except (ValueError, TypeError) as error:
        shown = masked(value) if isinstance(value, str) else value
        raise ConfigError(f"{field} = {shown!r} ({source}): {error}") from None


def _url(value: Any) -> str:
    if not isinstance(value, str) or not value.partition("://")[2]:
        raise ValueError("give a URL: sqlite:///jobs.db, postgresql://host/name or redis://host")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("give some text")
    return value.strip()


def _names(value: Any) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) and name.strip() for name in given):
        raise ValueError('give names: "mail,reports" in a variable, ["mail", "reports"] in a file')
    return tuple(dict.fromkeys(name.strip() for name in given))


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"give a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


def _duration(value: Any) -> Duration:
    if milliseconds(_wait(value)) <= 0:
        raise ValueError("give a duration above zero")
    return _wait(value)


def _wait(value: Any) -> Duration:
    try:
        milliseconds(value)
    except ValueError:  # its own words would repeat the value
        raise ValueError('give a duration: "250ms", "90s", "5m", "2h", "3d"') from None
    given: Duration = value
    return given


def _one_of(*words: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in words:
            raise ValueError(f"give one of {', '.join(words)}{did_you_mean(word, words)}")
        return word

    return parse


FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "url": (_url, "The store: `sqlite:///jobs.db` (in a settings file: beside it), `postgresql://…`, `redis://…`"),
    "app": (_text, "Your application, `module:app`, for the commands that run your code"),
    "queues": (_names, "The queues a worker serves, in this order; none named: all"),
    "concurrency": (_whole(1, 10_000), "Jobs that run at the same time in a worker process"),
    "processes": (_whole(1, 1_000), "Worker processes that `mainstay worker` keeps running"),
    "lease": (_duration, "How long a silent worker is believed to be alive; none given: what suits the engine"),
    "grace": (_wait, "How long running jobs may go on when a worker is told to stop"),
    "poll": (_duration, "How often a worker looks for jobs that nobody announced"),
    "log_level": (_one_of("debug", "info", "warning", "error"), "The least severe log lines that are written"),
    "log_format": (_one_of("text", "json"), "Log lines for people (`text`) or for machines (`json`)"),
}
