"""Channels that carry notices of alerts: a command, a signed webhook, Slack, mail, Apprise. Each has its own time limit.

Secrets are in the settings file or in variables of the environment that it names (`"$NAME"`), never in the store.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.alerts import RECOVERED, SEVERITIES, Alert
from ..core.clock import iso, milliseconds
from ..core.errors import ConfigError, SendFailed
from ..core.redaction import in_force
from ..core.suggest import did_you_mean
from .smtp import TLS, MailServer, deliver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from email.message import EmailMessage
    from typing import IO

SECONDS = 10.0
MARKS = {"warning": "⚠️", "error": "❌", "high": "🚨"}
PRINTED = 500  # characters of what a command wrote before it failed


class Notice(NamedTuple):
    """What is to be told: an incident has `opened` or `recovered`, or this is a `test`. Sent again, it has the same id."""

    id: str
    what: str
    at: int
    alert: Alert
    opened_at: int
    link: str = ""

    def record(self) -> dict[str, Any]:
        """Return it as JSON has it: what webhooks and commands get."""
        about = {name: value for name, value in self.alert._asdict().items() if value not in (None, "")}
        link = {"link": self.link} if self.link else {}
        return {
            "id": self.id,
            "event": f"alert.{self.what}",
            "at": iso(self.at),
            "opened_at": iso(self.opened_at),
            **about,
            **link,
        }

    def title(self) -> str:
        """Return it in a few words."""
        return f"Recovered: {self.alert.title}" if self.what == RECOVERED else self.alert.title

    def lines(self) -> list[str]:
        """Return it as people read it."""
        named = (
            ("type", self.alert.type),
            ("job", self.alert.job),
            ("queue", self.alert.queue),
            ("tenant", self.alert.tenant),
        )
        about = ", ".join(f"{name} {value}" for name, value in named if value)
        return [
            line
            for line in (self.alert.text, about, f"{self.alert.severity}, since {iso(self.opened_at)}", self.link)
            if line
        ]


class Channel(NamedTuple):
    """A channel as it is configured and checked."""

    name: str
    kind: str
    options: dict[str, Any]
    least: str = "warning"  # the least severity that it gets
    seconds: float = SECONDS

    def __repr__(self) -> str:
        return f"<Channel {self.name} ({self.kind})>"

    def wants(self, alert: Alert) -> bool:
        """Whether an alert is severe enough."""
        return SEVERITIES.index(alert.severity) >= SEVERITIES.index(self.least)

    def send(self, notice: Notice) -> None:
        """Deliver a notice; raise `SendFailed` if it has not arrived."""
        redact, alert = in_force().text, notice.alert
        notice = notice._replace(alert=alert._replace(title=redact(alert.title), text=redact(alert.text)))
        try:
            _SEND[self.kind](self, notice)
        except SendFailed:
            raise
        except Exception as error:
            raise SendFailed(f"{type(error).__name__}: {error}") from error


# configuration ------------------------------------------------------------------------------------------------------------
def channel(name: str, spec: Mapping[str, Any]) -> Channel:
    """Return a channel; raise `ConfigError`, which shows no secret, if its options do not fit."""
    if not isinstance(spec, dict) or spec.get("kind") not in OPTIONS:
        kinds, given = ", ".join(OPTIONS), spec.get("kind", "") if isinstance(spec, dict) else ""
        raise ConfigError(
            f"the channel {name} of alerts needs a kind{did_you_mean(str(given), OPTIONS)}; there are: {kinds}"
        )
    kind = spec["kind"]
    options = {
        each: _value(name, each, value) for each, value in spec.items() if each not in ("kind", "least", "timeout")
    }
    for each in options:
        if each not in OPTIONS[kind]:
            near, known = did_you_mean(each, OPTIONS[kind]), ", ".join((*OPTIONS[kind], "least", "timeout"))
            raise ConfigError(f"the channel {name} ({kind}) has no option {each!r}{near}; there are: {known}")
    for each, (kinds_of, needed) in OPTIONS[kind].items():
        if (needed and each not in options) or (each in options and not _fits(options[each], kinds_of)):
            raise ConfigError(
                f"the channel {name} ({kind}): {each} is {'missing' if each not in options else 'not valid'}; give {WANTED[kinds_of]}"
            )
    if "secret" in options:
        from .signature import key_of

        key_of(options["secret"])
    if options.get("tls", TLS[0]) not in TLS:
        raise ConfigError(f"the channel {name}: tls: give one of {', '.join(TLS)}{did_you_mean(options['tls'], TLS)}")
    return Channel(name, kind, options, _least(name, spec), _seconds(name, spec))


TEXT, TEXTS, NUMBER = "text", "texts", "number"
WANTED = {TEXT: "a text", TEXTS: 'a list of texts: ["…"]', NUMBER: "a whole number above zero"}
OPTIONS: dict[str, dict[str, tuple[str, bool]]] = {  # by kind: what each option is, and whether it is needed
    "webhook": {"url": (TEXT, True), "secret": (TEXT, True), "allow": (TEXTS, False)},
    "slack": {"url": (TEXT, True), "allow": (TEXTS, False)},
    "command": {"argv": (TEXTS, True)},
    "smtp": {
        "host": (TEXT, True), "port": (NUMBER, False), "tls": (TEXT, False), "user": (TEXT, False), "password": (TEXT, False),
        "sender": (TEXT, True), "to": (TEXTS, True),
    },
    "apprise": {"urls": (TEXTS, True)},
}  # fmt: skip


def _fits(value: Any, kind: str) -> bool:
    if kind == NUMBER:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    texts = value if kind == TEXTS else [value]
    return (
        isinstance(texts, list)
        and bool(texts)
        and all(isinstance(each, str) and each.strip() and "\0" not in each for each in texts)
    )


def _value(name: str, option: str, value: Any) -> Any:
    """Return the value of an option; `$NAME` is that of a variable of the environment."""
    if isinstance(value, list):
        return [_value(name, option, each) for each in value]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if not os.environ.get(value[1:]):
        raise ConfigError(
            f"the channel {name}: {option} is taken from the environment variable {value[1:]}, which is not set"
        )
    return os.environ[value[1:]]


def _least(name: str, spec: Mapping[str, Any]) -> str:
    least = spec.get("least", SEVERITIES[0])
    if least not in SEVERITIES:
        raise ConfigError(f"the channel {name}: least = {least!r:.40}: give one of {', '.join(SEVERITIES)}")
    return str(least)


def _seconds(name: str, spec: Mapping[str, Any]) -> float:
    try:
        seconds = milliseconds(spec.get("timeout", SECONDS)) / 1000
    except ValueError as error:
        raise ConfigError(f"the channel {name}: timeout: {error}") from None
    if not 0 < seconds <= 60:
        raise ConfigError(f"the channel {name}: timeout: give a duration of up to 60s")
    return seconds


# delivery -----------------------------------------------------------------------------------------------------------------
def _webhook(to: Channel, notice: Notice) -> None:
    import time

    from .signature import signed

    body = json.dumps(notice.record(), ensure_ascii=False).encode()
    headers = signed(to.options["secret"], notice.id, int(time.time()), body)
    _post(to, body, headers)


def _slack(to: Channel, notice: Notice) -> None:
    mark = "✅" if notice.what == RECOVERED else MARKS[notice.alert.severity]
    text = "\n".join([f"{mark} *{_escaped(notice.title())}*", *map(_escaped, notice.lines())])
    _post(to, json.dumps({"text": text}).encode(), {})


def _escaped(text: str) -> str:
    """Return a text in which Slack sees no links and mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _post(to: Channel, body: bytes, headers: Mapping[str, str]) -> None:
    from .post import post

    given = {"Content-Type": "application/json", "User-Agent": "mainstay", **headers}
    post(to.options["url"], body, given, seconds=to.seconds, allow=to.options.get("allow", ()))


def _command(to: Channel, notice: Notice) -> None:
    """Run a program, without a shell; it gets the notice on stdin. What it leaves in the background goes on, unless it is late itself."""
    from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
    from tempfile import TemporaryFile

    argv = to.options["argv"]
    with TemporaryFile() as said:  # no pipe: it would end with the last program that was started
        done = Popen(argv, stdin=PIPE, stdout=DEVNULL, stderr=said, start_new_session=True)  # noqa: S603  (the operator's own, from the settings)
        try:
            done.communicate(json.dumps(notice.record()).encode(), timeout=to.seconds)
        except TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)  # with all that it has started
            done.wait()
            raise SendFailed(f"{argv[0]} has not ended within {to.seconds:g} s") from None
        if done.returncode:
            raise SendFailed(f"{argv[0]} ended with {done.returncode}: {_tail(said)}")


def _tail(file: IO[bytes]) -> str:
    """Return the end of what a command wrote."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - PRINTED, 0))
    return file.read(PRINTED).decode("utf-8", "replace").strip()


def _smtp(to: Channel, notice: Notice) -> None:
    given = {name: to.options[name] for name in ("host", "port", "tls", "user", "password") if name in to.options}
    refused = deliver(MailServer(**given, seconds=to.seconds), _mail(to, notice), to.options["to"])
    if len(refused) == len(to.options["to"]):
        raise SendFailed(f"the mail server takes the mail for nobody: {refused}")


def _mail(to: Channel, notice: Notice) -> EmailMessage:
    from email.message import EmailMessage
    from email.utils import formatdate

    mail = EmailMessage()
    mail["Subject"] = " ".join(f"[{notice.alert.severity}] {notice.title()}".split())
    mail["From"], mail["To"], mail["Date"] = to.options["sender"], ", ".join(to.options["to"]), formatdate()
    mail["Message-ID"] = f"<{notice.id}@mainstay>"
    mail.set_content("\n".join(notice.lines()))
    return mail


def _apprise(to: Channel, notice: Notice) -> None:
    try:
        import apprise
    except ImportError:
        raise SendFailed("Apprise is not installed: pip install 'mainstay[alerts]'") from None
    service = apprise.Apprise()
    for url in to.options["urls"]:
        if not service.add(url):
            raise SendFailed(f"Apprise does not know the service {url.partition('://')[0]}://")
    kind = {RECOVERED: "success"}.get(notice.what, "warning" if notice.alert.severity == "warning" else "failure")
    if not service.notify(title=notice.title(), body="\n".join(notice.lines()), notify_type=kind):
        raise SendFailed("a service of Apprise has not taken the notice; its log says why")


_SEND: dict[str, Callable[[Channel, Notice], None]] = {
    "webhook": _webhook, "slack": _slack, "command": _command, "smtp": _smtp, "apprise": _apprise,
}  # fmt: skip
