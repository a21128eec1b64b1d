"""Who calls the API, and what a role permits: viewer, operator, admin, each with all that the one before may do."""

from __future__ import annotations

from typing import NamedTuple

from ..core import tokens
from ..core.errors import ConfigError
from ..core.suggest import did_you_mean

ANYBODY = "anybody"
VIEWER, OPERATOR, ADMIN = ROLES = tokens.ROLES
CREATOR = "creator"  # of an operation that enqueues jobs: the site says who that is
_RANK = {ANYBODY: 0, VIEWER: 1, OPERATOR: 2, ADMIN: 3}


class Access(NamedTuple):
    """What a caller may do: a role, under which name it acts, and the tenant whose jobs it sees (None: all).

    `roles` are names that reviews know as deciders (`role:editor`).
    """

    role: str
    actor: str = "web"
    tenant: str | None = None
    roles: tuple[str, ...] = ()
    how: str = "host"  # how it was found: open, token, session, or by the host application
    token: str | None = None  # the id of the token that lets it in, if one does

    def permits(self, role: str) -> bool:
        """Whether the caller has this role or a higher one."""
        return _RANK[self.role] >= _RANK[role]


def checked_access(found: Access | str | None) -> Access | None:
    """Return what the host application's callback said as `Access`; a text is a role. None: nobody is logged in."""
    access = Access(found) if isinstance(found, str) else found
    if access is not None and access.role not in ROLES:
        raise ConfigError(
            f"access= returned the role {access.role!r}{did_you_mean(access.role, ROLES)}: it has to be one of {', '.join(ROLES)}, or None"
        )
    return access


NOBODY = Access(ANYBODY, actor="anonymous", how="none")  # a caller who is not logged in
