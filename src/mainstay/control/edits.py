"""Edited payloads: what a function or a mapping makes of a job's payload, checked as its type takes it, and what follows from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..core import keys, rules
from ..core.change import Edit
from ..core.draft import Draft
from ..core.errors import InvalidPayload, MainstayError, UsageError
from ..core.fields import rule as named
from ..core.fits import misfit
from ..core.limits import ACCOUNT, TENANT, effective, slot_key
from ..core.payload import encode, loads
from ..redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..app import Mainstay
    from ..core.job import Job, TypeInfo
    from ..registry import JobType

    Function = Callable[[dict[str, Any]], Mapping[str, Any]]


def setter(values: Mapping[str, Any], remove: Sequence[str] = ()) -> Function:
    """Return the function that sets fields of a payload by their dotted paths, and removes others."""
    for path in (*values, *remove):
        if not all(str(path).split(".")):
            raise UsageError(f"{path!r:.60}: a field is named by a path such as 'to' or 'customer.id'")

    def changed(payload: dict[str, Any]) -> dict[str, Any]:
        for path, value in values.items():
            *parents, last = path.split(".")
            _inside(payload, parents, path)[last] = value
        for path in remove:
            *parents, last = path.split(".")
            _inside(payload, parents, path).pop(last, None)
        return payload

    return changed


def replacing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Function:
    """Return the function that replaces one payload by another."""

    def changed(payload: dict[str, Any]) -> Mapping[str, Any]:
        if payload != before:
            raise InvalidPayload("its arguments have changed meanwhile: edit it again")
        return after

    return changed


def _inside(payload: dict[str, Any], names: Sequence[str], path: str) -> dict[str, Any]:
    for name in names:
        payload = payload.setdefault(name, {})
        if not isinstance(payload, dict):
            raise InvalidPayload(f"{path}: {name} is no object, so it has no fields")
    return payload


class Editor:
    """Edits payloads of jobs with one function. Types are read from the store once."""

    def __init__(self, app: Mainstay, function: Function) -> None:
        redactor()  # the audit trail tells what changes: without secrets, by the settings
        self._app, self._function = app, function
        self._types = {info.name: info for info in app.store.types()}
        set_limits = {rule.name: effective(rule.value).get("limits", ()) for rule in app.store.rules(["type"])}
        self._set_limits: Mapping[str, Sequence[Mapping[str, Any]]] = set_limits

    def edit(self, job: Job) -> Edit:
        """Return the edit of a job's payload; raise if the function refuses it, or the type does not take the result."""
        made = self._function(loads(job.payload))
        payload = encode(made, self._app.max_payload)
        known = self._app.registry.get(job.type)
        info = known.info(0, job.type) if known is not None else self._types.get(job.type)
        if known is not None:
            known.arguments(payload, job.version)
        elif info is not None:
            check_payload(info, payload, job.version)
        policy = info.policy if info is not None else {}
        return Edit(job.payload, payload, _key(policy, job, payload), self._slots(policy, job, payload, known))

    def _slots(
        self, policy: Mapping[str, Any], job: Job, payload: str, known: JobType[..., Any, Any] | None
    ) -> dict[str, str]:  # fmt: skip
        """Return the keys of those of a job's limits that follow from its payload."""
        carried = rules.unpack(job.rules)
        names = {name for name, *_ in (*carried.get("limits", ()), *carried.get("rates", ()))}
        specs = [*(policy.get("limits") or ()), *self._set_limits.get(job.type, ())]
        functions = known.flow.functions if known is not None and known.flow is not None else {}
        draft = Draft(job.type, payload, tenant=job.tenant)
        return {
            spec["name"]: slot_key(spec, draft, functions)
            for spec in specs
            if spec["name"] in names and spec.get("key") not in (None, TENANT, ACCOUNT)
        }


def check_payload(info: TypeInfo, payload: str, version: int) -> None:
    """Raise for a payload that a type does not take, by what a worker has registered."""
    if info.policy.get("version", 1) != version:
        raise InvalidPayload(
            f"its payload has version {version}, the type {info.name} has version {info.policy.get('version', 1)}: edit it "
            "where the code of the type is"
        )
    schema = json.loads(info.takes or "{}")
    why = misfit(json.loads(payload), schema, schema)
    if why:
        raise InvalidPayload(f"{why}\n  {info.signature}")


def _key(policy: Mapping[str, Any], job: Job, payload: str) -> str | None:
    """Return the key that follows from a payload; None if the job has none, or another than the type declares."""
    rule = policy.get(keys.RULE) or {}
    if job.key is None or "by" not in rule:
        return None
    try:
        follows = named(rule["by"]).text(job.type, job.payload) == job.key
    except MainstayError:  # its own payload gives no key
        return None
    return named(rule["by"]).text(job.type, payload) if follows else None
