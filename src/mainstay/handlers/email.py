"""Mail from templates by SMTP: `email.register(app, server="smtp://smtp.example.org", sender="shop@example.org", templates="mails")`.

A template is the files `NAME.subject.txt` and `NAME.txt` or `NAME.html`, or both. Templates are the application's, never a payload's.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict
from urllib.parse import parse_qsl, unquote, urlsplit

from mainstay import ConfigError, Permanent, Retry, ctx
from mainstay.core.suggest import did_you_mean
from mainstay.senders.smtp import TLS, MailServer, deliver

from .extras import needed, secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import EmailMessage
    from typing import Unpack

    from mainstay import Mainstay
    from mainstay.job_decorator import TypeOptions

SECONDS = 30.0  # for each step of the exchange with the server
SUBJECT, PARTS = ".subject.txt", (".txt", ".html")
ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\]{1,190}")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
SCHEMES = {"smtp": "starttls", "smtps": "tls"}
HOW = 'server: give "smtp://user@smtp.example.org" (STARTTLS, port 587), "smtps://…" (TLS, port 465) or "smtp://localhost:25?tls=none"'


class Sent(TypedDict):
    """The id of a mail, and why the server refused it for some of the recipients, by address."""

    message_id: str
    refused: dict[str, str]


class Recipient(TypedDict):
    """One recipient of a batch, with the values of the template that are theirs."""

    to: str
    data: NotRequired[dict[str, Any]]


class RefusedForNow(Exception):
    """The mail server does not take the mail for some recipients now; the next attempt is for those only."""


class Email:
    """The job types of this module."""

    def __init__(self, app: Mainstay, post: PostOffice, options: TypeOptions) -> None:
        def email(template: str, to: str | list[str], data: dict[str, Any] | None = None) -> Sent:
            """Send one mail, made from a template and its values, to one recipient or to some."""
            recipients = [to] if isinstance(to, str) else list(dict.fromkeys(to))
            return post.send(post.message(template, recipients, data or {}, ctx.id), recipients)

        def emails(template: str, recipients: list[Recipient], data: dict[str, Any] | None = None) -> int:
            """Enqueue a mail of its own for each recipient, if every one of them can be made; return how many."""
            values = [{**(data or {}), **each.get("data", {})} for each in recipients]
            for each, value in zip(recipients, values, strict=True):
                post.message(template, [each["to"]], value, ctx.id)
            ctx.enqueue(
                *(
                    self.email.prepare(template, each["to"], value)
                    for each, value in zip(recipients, values, strict=True)
                )
            )
            return len(recipients)

        self.email = app.job(**options)(email)
        self.emails = app.job(queue=self.email.queue, name=f"{self.email.name}s")(emails)


def register(
    app: Mainstay, *, server: str, sender: str, templates: str | Mapping[str, str], password: str = "",
    reply_to: str = "", **options: Unpack[TypeOptions],
) -> Email:  # fmt: skip
    """Register `email(template, to, data)` and `emails(template, recipients, data)`; `options` are those of any job type, usually with 10 attempts.

    `templates` is a folder, or texts by file name. `server` and `password` may be `"$NAME"`: the worker then takes them from that
    variable of the environment. A `limit=Limit(rate="10/s")` is one for all mails, also for those of batches.
    """
    needed("jinja2", "email", "email")
    return Email(app, PostOffice(server, password, sender, reply_to, templates), {"retry": Retry(10), **options})


class PostOffice:
    """Makes mails from templates, and hands them in."""

    def __init__(
        self, server: str, password: str, sender: str, reply_to: str, templates: str | Mapping[str, str]
    ) -> None:  # fmt: skip
        self._place, self._password, self._templates = server, password, templates
        self.sender, self.reply_to = sender, reply_to
        if not server.startswith("$"):
            mail_server(server, "")
        for name, value in {"sender": sender, **({"reply_to": reply_to} if reply_to else {})}.items():
            if not ADDRESS.fullmatch(_bare(value)):
                raise ConfigError(f'{name}={value!r:.100}: give an address, such as "Shop <shop@example.org>"')
        self.names = _template_names(templates)

    @cached_property
    def server(self) -> MailServer:
        """The mail server, with its password."""
        return mail_server(secret(self._place, "server"), secret(self._password, "password"))

    @cached_property
    def pages(self) -> Any:
        """The templates, compiled when they are first used. A value that is missing is an error, and HTML is escaped."""
        import jinja2

        given = self._templates
        loader: Any = jinja2.FileSystemLoader(given) if isinstance(given, str) else jinja2.DictLoader(dict(given))
        return jinja2.Environment(
            loader=loader, undefined=jinja2.StrictUndefined, autoescape=jinja2.select_autoescape()
        )  # fmt: skip

    def message(self, template: str, to: list[str], data: dict[str, Any], job: str) -> EmailMessage:
        """Return a mail, with the same id whenever this job makes it; raise `Permanent` if it cannot be made."""
        if template not in self.names:
            known = ", ".join(sorted(self.names))
            raise Permanent(
                f"there is no template {template!r:.100}{did_you_mean(template, self.names)}; there are: {known}"
            )
        for address in to or [""]:
            if not ADDRESS.fullmatch(address) or not address.isprintable():
                raise Permanent(f"to: {address!r:.100} is not an address: give one such as ada@example.org")
        subject = self._rendered(template + SUBJECT, data).strip()
        if CONTROL.search(subject):
            raise Permanent(f"the subject of {template} has a line break or a control character: {subject!r:.100}")
        mail = self._headed(subject, to, job)
        self._fill(mail, template, data)
        return mail

    def _headed(self, subject: str, to: list[str], job: str) -> EmailMessage:
        from email.message import EmailMessage
        from email.utils import format_datetime

        mail = EmailMessage()
        mail["Subject"], mail["From"], mail["To"] = subject, self.sender, ", ".join(to)
        mail["Date"], mail["Message-ID"] = (
            format_datetime(ctx.created_at),
            f"<{job}@{_bare(self.sender).partition('@')[2]}>",
        )
        mail["Auto-Submitted"] = "auto-generated"
        if self.reply_to:
            mail["Reply-To"] = self.reply_to
        return mail

    def _fill(self, mail: EmailMessage, template: str, data: dict[str, Any]) -> None:
        text, html = (self._rendered(template + end, data) if end in self.names[template] else None for end in PARTS)
        if text is not None:
            mail.set_content(text)
        if html is not None and text is not None:
            mail.add_alternative(html, subtype="html")
        elif html is not None:
            mail.set_content(html, subtype="html")

    def _rendered(self, name: str, data: dict[str, Any]) -> str:
        try:
            return str(self.pages.get_template(name).render(data))
        except MemoryError:  # not the template's fault
            raise
        except Exception as error:
            raise Permanent(
                f"the template {name} cannot be made from this data: {type(error).__name__}: {error}; give every value that it "
                "uses, or mend the template"
            ) from error

    def send(self, mail: EmailMessage, recipients: list[str]) -> Sent:
        """Hand in a mail for those who have not got it; raise if the server does not take it for some of them now."""
        left: list[str] = ctx.checkpoint.get("left", recipients)
        refused: dict[str, str] = ctx.checkpoint.get("refused", {})
        replies = self._handed_in(mail, left) if left else {}
        said = {each: f"{code} {text}" for each, (code, text) in replies.items()}
        refused |= {each: why for each, why in said.items() if replies[each][0] >= 500}
        left = [each for each in said if each not in refused]
        nobody = len(refused) == len(recipients)
        ctx.save(**{"left": recipients, "refused": {}} if nobody else {"left": left, "refused": refused})
        if left:
            why = "; ".join(f"{each}: {said[each]}" for each in left)
            raise RefusedForNow(f"the mail server does not take the mail now for {why:.500}")
        if nobody:  # an operator may run the dead job again, and then everybody is asked about again
            raise Permanent(f"the mail server refuses the mail for every recipient: {refused}", code=550)
        return Sent(message_id=str(mail["Message-ID"]), refused=refused)

    def _handed_in(self, mail: EmailMessage, to: list[str]) -> dict[str, tuple[int, str]]:
        import smtplib

        try:
            return deliver(self.server, mail, to)
        except smtplib.SMTPAuthenticationError:  # the settings of this worker, not the mail
            raise
        except smtplib.SMTPResponseException as error:
            if error.smtp_code < 500:
                raise
            said = (
                error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
            )
            raise Permanent(
                f"the mail server refuses the mail: {error.smtp_code} {said:.300}", code=error.smtp_code
            ) from error


def mail_server(url: str, password: str) -> MailServer:
    """Return the server that a URL names; raise `ConfigError`, which shows no password, if it names none."""
    try:
        parts = urlsplit(url)
        port, more = parts.port or 0, dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ConfigError(HOW) from None
    tls = more.pop("tls", SCHEMES.get(parts.scheme, ""))
    if parts.scheme not in SCHEMES or not parts.hostname or parts.path not in ("", "/") or more or tls not in TLS:
        raise ConfigError(HOW)
    user, word = unquote(parts.username or ""), unquote(parts.password or "") or password
    return MailServer(parts.hostname, port, tls, user, word, SECONDS)


def _bare(address: str) -> str:
    from email.utils import parseaddr

    return parseaddr(address)[1] if address.isprintable() else ""


def _template_names(templates: str | Mapping[str, str]) -> dict[str, list[str]]:
    """Return the parts of each template by its name."""
    try:
        files = set(os.listdir(templates) if isinstance(templates, str) else templates)
    except OSError as error:
        raise ConfigError(f"templates={templates!r}: {error.strerror}: give the folder of the templates") from error
    names = [file.removesuffix(SUBJECT) for file in files if file.endswith(SUBJECT)]
    found = {name: [end for end in PARTS if name + end in files] for name in names}
    bare = [name for name, parts in found.items() if not parts]
    if bare or not found:
        raise ConfigError(
            f"templates: {', '.join(bare) or 'there is none'}: a template is NAME{SUBJECT} and NAME.txt or NAME.html, or both"
        )
    return found
