"""Send mail by SMTP, encrypted unless it is said otherwise, within a time limit for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import smtplib
    from collections.abc import Sequence
    from email.message import EmailMessage

TLS = ("starttls", "tls", "none")
NOT_ASKED = (421, b"the server has ended the connection")
PORTS = {"starttls": 587, "tls": 465, "none": 25}


class MailServer(NamedTuple):
    """Where mail is handed in, and as whom. `tls` is one of `TLS`; port 0 is the usual one."""

    host: str
    port: int = 0
    tls: str = TLS[0]
    user: str = ""
    password: str = ""
    seconds: float = 10.0

    def __repr__(self) -> str:
        return f"<MailServer {self.host}:{self.port or PORTS[self.tls]}>"


def deliver(server: MailServer, mail: EmailMessage, to: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Hand in a mail for these recipients; return those for whom it was not taken, with code and reason.

    Raises what `smtplib` raises, but for `SMTPRecipientsRefused`, and OSError.
    """
    import smtplib

    connection = _connected(server)
    try:
        refused = connection.send_message(mail, to_addrs=to)
    except smtplib.SMTPRecipientsRefused as error:  # nobody got it, also those that the server was not asked about
        refused = {address: error.recipients.get(address, NOT_ASKED) for address in to}
    finally:
        _leave(connection)
    return {address: (code, said.decode("utf-8", "replace")) for address, (code, said) in refused.items()}


def _leave(connection: smtplib.SMTP) -> None:
    """Say goodbye. What the server replies does not change what it has taken."""
    import smtplib

    try:
        connection.quit()
    except (smtplib.SMTPException, OSError):
        connection.close()


def _connected(server: MailServer) -> smtplib.SMTP:
    """Return a connection, encrypted and logged in. The name of this host is not looked up: that has no time limit."""
    import errno
    import smtplib
    import socket
    import ssl

    place = server.host, server.port or PORTS[server.tls], socket.gethostname() or "localhost"
    secure = None if server.tls == "none" else ssl.create_default_context()
    try:
        if server.tls == "tls":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(*place, timeout=server.seconds, context=secure)
        else:
            connection = smtplib.SMTP(*place, server.seconds)
    except OSError as error:
        if isinstance(error, (smtplib.SMTPException, ssl.SSLError)):
            raise
        why = f"the mail server {place[0]}:{place[1]} is out of reach: {error.strerror or error}"
        raise OSError(error.errno or errno.ETIMEDOUT, why) from error
    try:
        if server.tls == "starttls":
            connection.starttls(context=secure)
        if server.user:
            connection.login(server.user, server.password)
    except BaseException:
        connection.close()
        raise
    return connection
