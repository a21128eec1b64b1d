"""Settings: of the installation, as programs and operators set them, and what else is configured. Secrets are never shown."""

from __future__ import annotations

from typing import Any

import msgspec

from ...control import settings as control
from ...control.records import Change, SettingRecord
from ...core.errors import UsageError
from ...core.redaction import OFF
from ...core.thresholds import DEFAULTS, thresholds
from ...settings_file import load_settings
from ..call import Call
from ..changes import Removal
from ..operations import Body, operation
from ..roles import ADMIN

RETENTION = ("audit_keep", "stats_keep", "archive")
REDACTION = ("redact", "redact_patterns")


class SettingsPage(msgspec.Struct, kw_only=True):
    """The store, the settings of the installation, what is redacted, how long things are kept, and the thresholds of health."""

    store: dict[str, str]
    settings: list[SettingRecord]
    redaction: dict[str, Any]
    retention: dict[str, Any]
    health: dict[str, int]


class Setting(Body, frozen=True, kw_only=True):
    """A setting of the installation: any JSON value."""

    name: str
    value: Any
    description: str | None = None
    dry_run: bool = False


@operation("GET", "/api/settings")
def read_settings(call: Call) -> SettingsPage:
    """Return what is configured. Values whose names say that they are secrets are redacted."""
    files = load_settings(only=(*RETENTION, *REDACTION))._asdict()
    found = {name: control.setting(call.app, name, None) for name in DEFAULTS}
    return SettingsPage(
        store=call.app.store.diagnostics(),
        settings=call.app.settings(),
        redaction={"on": files["redact"] != OFF} | {name: list(files[name]) for name in REDACTION},
        retention={name: files[name] or None for name in RETENTION},
        health=thresholds(found),
    )


@operation("GET", "/api/worker/config")
def list_settings(call: Call) -> list[SettingRecord]:
    """Return the settings of the installation, by name."""
    return call.app.settings()


@operation("PUT", "/api/worker/config", role=ADMIN)
def set_setting(call: Call, body: Setting) -> Change:
    """Set a setting of the installation."""
    if body.value is None:
        raise UsageError(f"the setting {body.name} needs a value; DELETE api/worker/config/NAME removes it")
    given = {"actor": call.who.actor, "dry_run": body.dry_run}
    return _named(call.app.set_setting(body.name, body.value, body.description, **given))  # type: ignore[arg-type]


@operation("DELETE", "/api/worker/config/{name:path}", role=ADMIN)
def unset_setting(call: Call, name: str, query: Removal) -> Change:
    """Remove a setting of the installation."""
    return _named(call.app.unset_setting(name, actor=call.who.actor, dry_run=query.dry_run))


def _named(change: Change) -> Change:
    """Return a change that says in each value whose it is: by that name, a secret is known."""
    before, after = ({"name": change.name, **side} if side else side for side in (change.before, change.after))
    return change._replace(before=before, after=after)
