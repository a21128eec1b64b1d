"""What handlers need from outside: libraries, checked at `register` and imported by the first job, and secrets."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mainstay import ConfigError
from mainstay.senders.addresses import is_network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")


def needed(module: str, extra: str, handler: str) -> None:
    """Raise `ConfigError`, which names the extra to install, if a library is not there. It is not imported."""
    if find_spec(module) is None:
        raise ConfigError(f"mainstay.handlers.{handler} needs {module}: pip install 'mainstay[{extra}]'")


def checked_allow(allow: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts and networks that may be reached inside this network; raise `ConfigError` for what is neither."""
    found: tuple[Any, ...] = ("",) if isinstance(allow, str) else tuple(allow)
    if not all(isinstance(each, str) and each.strip() for each in found):
        raise ConfigError('allow: give a list of hosts and networks: allow=["hooks.internal", "10.0.0.0/8"]')
    for each in found:
        if "/" in each and not is_network(each):
            raise ConfigError(
                f"allow: {each!r:.100} is no network: write 10.0.0.0/8, or a host without http:// and path"
            )
    return found


def secret(value: str, setting: str) -> str:
    """Return a setting; `$NAME` is that of a variable of the environment, which only workers need to have."""
    if not value.startswith("$"):
        return value
    if not os.environ.get(value[1:]):
        raise ConfigError(
            f"{setting} is taken from the environment variable {value[1:]}, which this worker does not have"
        )
    return os.environ[value[1:]]


def with_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of the variables that they name: `{"Authorization": "Bearer $TOKEN"}`."""
    return {name: _VARIABLE.sub(lambda found: secret(found[0], "a header"), text) for name, text in headers.items()}
