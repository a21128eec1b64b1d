"""What a worker takes from its surroundings: threads, executors, identities, randomness. The simulator passes its own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from ..upkeep.sweep import GRACE
from .executors import Loop, Threads
from .in_flight import InFlight
from .registration import new_identity
from .service import Service

if TYPE_CHECKING:
    from collections.abc import Callable


class Runtime(NamedTuple):
    """The parts that depend on real time, threads or chance, with the real ones as defaults."""

    service: Callable[..., Service] = Service  # (name, step, clock, crashed): runs a loop
    threads: Callable[..., Threads] = Threads  # (slots, begin, end): runs plain handlers
    loop: Callable[..., Loop] = Loop  # (slots, begin, end): runs async handlers
    in_flight: Callable[[], InFlight] = InFlight
    identity: Callable[[], str] = new_identity
    random: Callable[[], float] = random.random
    sweep_grace: int = GRACE


REAL = Runtime()
