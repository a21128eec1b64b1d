"""What jobs are tested with: the pytest fixture `mainstay`, inline mode, one handler alone, and the simulator.

Its names are loaded when first used: pytest imports this package at every start, for the plugin.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .kit import Kit as Kit
    from .trial import Trial as Trial

__all__ = ["Kit", "Trial"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'mainstay.testing' has no attribute {name!r}")
    return getattr(__import__(f"mainstay.testing.{name.lower()}", fromlist=[name]), name)
