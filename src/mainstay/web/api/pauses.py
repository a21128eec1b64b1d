"""Pauses: of the whole installation, of types and of queues."""

from __future__ import annotations

from ...control import pauses as control
from ...control.records import Change, Pause
from ..call import Call
from ..changes import Reasoned, existing, told
from ..operations import operation


@operation("GET", "/api/pauses")
def list_pauses(call: Call) -> list[Pause]:
    """Return every pause: who has set it, when and why."""
    return control.all_pauses(call.app)


@operation("POST", "/api/pause")
def pause_all(call: Call, body: Reasoned) -> Change:
    """Start no more jobs of the whole installation. Running jobs finish."""
    return control.pause(call.app, None, None, *told(call, body))


@operation("POST", "/api/resume")
def resume_all(call: Call, body: Reasoned) -> Change:
    """End the pause of the installation. Those of types and queues stay."""
    return control.resume(call.app, None, None, *told(call, body))


@operation("POST", "/api/types/{name}/pause")
def pause_type(call: Call, name: str, body: Reasoned) -> Change:
    """Start no more jobs of a type."""
    with existing():
        return control.pause(call.app, name, None, *told(call, body))


@operation("POST", "/api/types/{name}/resume")
def resume_type(call: Call, name: str, body: Reasoned) -> Change:
    """End the pause of a type."""
    with existing():
        return control.resume(call.app, name, None, *told(call, body))


@operation("POST", "/api/queues/{name}/pause")
def pause_queue(call: Call, name: str, body: Reasoned) -> Change:
    """Start no more jobs of a queue."""
    with existing():
        return control.pause(call.app, None, name, *told(call, body))


@operation("POST", "/api/queues/{name}/resume")
def resume_queue(call: Call, name: str, body: Reasoned) -> Change:
    """End the pause of a queue."""
    with existing():
        return control.resume(call.app, None, name, *told(call, body))
