"""The address of a handler, by which another process finds it: module and name, never code or a pickle."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..app import Mainstay
    from ..registry import JobType

MAIN, ALIAS = "__main__", "__mainstay_main__"
HOMES = 3  # at most so many modules of the application are named


def address(type: JobType[..., Any, Any]) -> dict[str, Any]:
    """Return where this process found the type: its function's module, then the modules that have its application."""
    function = type.function
    modules = [function.__module__, *_homes(type.app)]
    return {"name": type.name, "path": function.__qualname__, "modules": modules, "main": _main()}


def find(address: dict[str, Any]) -> JobType[..., Any, Any]:
    """Import the modules of an address and return the type; raise `ConfigError` if it is not there."""
    name = address["name"]
    for module in address["modules"]:
        space = vars(_script(address["main"]) if module == MAIN else importlib.import_module(module))
        found = _named(space, address["path"], name) or _registered(space, name)
        if found is not None:
            return found
    raise ConfigError(
        f"{name} cannot be found from a process slot: {address['path']} in {', '.join(address['modules'])}. "
        "Define a handler with process=True at the top level of a module, so that importing the module registers it"
    )


def _named(space: dict[str, Any], path: str, name: str) -> JobType[..., Any, Any] | None:
    from ..registry import JobType

    first, *rest = path.split(".")
    found = space.get(first)
    for part in rest:
        found = getattr(found, part, None)
    while found is not None and not isinstance(found, JobType):
        found = getattr(found, "__wrapped__", None)  # another decorator around @app.job
    return found if found is not None and found.name == name else None


def _registered(space: dict[str, Any], name: str) -> JobType[..., Any, Any] | None:
    """Return the type of that name from an application that the module has."""
    from ..app import Mainstay

    apps = [value for value in list(space.values()) if isinstance(value, Mainstay)]
    return next((app.registry[name] for app in apps if name in app.registry), None)


def _homes(app: Mainstay) -> list[str]:
    """Return the names of modules that have the application."""
    spaces = {name: getattr(module, "__dict__", {}) for name, module in list(sys.modules.items())}
    return [name for name, space in spaces.items() if any(value is app for value in list(space.values()))][:HOMES]


def _main() -> dict[str, str] | None:
    """Return how to run this process's script again under another name; None for a prompt or `python -c`."""
    module = sys.modules[MAIN]
    spec, path = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    if spec is not None:
        return {"module": spec.name}
    return None if path is None else {"file": path}


def _script(main: dict[str, str] | None) -> ModuleType:
    """Run the parent's script once as a module, without what `if __name__ == "__main__"` guards, and return it."""
    import runpy

    if ALIAS in sys.modules:
        return sys.modules[ALIAS]
    if main is None:
        raise ConfigError(
            "a process slot finds handlers in files: this one was typed at a prompt or given to python -c"
        )
    with _definitions_only():
        if "module" in main:
            content = runpy.run_module(main["module"], run_name=ALIAS, alter_sys=True)
        else:
            content = runpy.run_path(main["file"], run_name=ALIAS)
    module = ModuleType(ALIAS)
    vars(module).update(content)
    sys.modules[MAIN] = sys.modules[ALIAS] = module
    return module


@contextmanager
def _definitions_only() -> Iterator[None]:
    """Refuse to enqueue and to start workers meanwhile: an unguarded script would do so in every process."""
    from ..app import Mainstay

    def refuse(*_: Any, **__: Any) -> Any:
        raise ConfigError(
            "this script defines a handler with process=True, so it is loaded again in the handler's process: put what "
            'starts workers or enqueues jobs under `if __name__ == "__main__":`'
        )

    held = {name: getattr(Mainstay, name) for name in ("worker", "_accept")}
    for name in held:
        setattr(Mainstay, name, refuse)
    try:
        yield
    finally:
        for name, method in held.items():
            setattr(Mainstay, name, method)
