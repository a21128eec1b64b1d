"""URLs without their passwords, to be shown or logged."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?i)((?:password|passwd|pwd)=)('(?:[^'\\]|\\.)*'|[^&\s]*)")
_IN_QUERY = re.compile(r"(?i)((?:password|passwd|pwd)=)[^&]*")
_IN_OPTION = re.compile(r"(?i)(=)([^&]*(?:://|%3A%2F%2F)[^&]*)")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")


def masked(url: str) -> str:
    """Return a URL, or a connection string of libpq, without its passwords, to be shown or logged."""
    url = (_IN_QUERY if "://" in url else _PASSWORD).sub(r"\1***", url)
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    rest, question, query = rest.partition("?")
    in_password = (":" in rest and "/" not in rest) or "=" not in query.partition("@")[0]
    if "@" not in rest and "@" in query and in_password:  # a bare ? inside the password
        rest, question, query = f"{rest}?{query}", "", ""
    login, at, hosts = rest.rpartition("@")
    name, colon, _ = login.partition(":")
    if colon and not rest.startswith("/"):
        rest = f"{name}:***{at}{hosts}"
    return f"{scheme}{mark}{rest}{question}{_IN_OPTION.sub(_masked_option, query)}"


def _masked_option(found: re.Match[str]) -> str:
    """Mask the URL that is the value of an option, as in `listen=postgresql://…`, written plainly or percent-encoded."""
    from urllib.parse import unquote

    return found[1] + masked(unquote(found[2]))


def masked_detail(detail: str, url: str) -> str:
    """Return a parser's complaint about a URL without the parts of a password that it quotes."""
    shown = masked(url)
    return _QUOTED.sub(lambda found: found[0] if found[2] in shown else "***", detail)
