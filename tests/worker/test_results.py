"""What a handler returns comes back as the type it declares; what interrupts the decoding of arguments is no invalid payload."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import NamedTuple
from uuid import UUID

import pytest

from mainstay import Mainstay, Retry
from tests.waiting import eventually


class Shade(Enum):
    DARK = "dark"


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Bill:
    total: Decimal
    at: datetime
    lines: tuple[Pair, ...] = ()


VALUES = [
    Bill(Decimal("2.50"), datetime(2030, 1, 31, 9, tzinfo=UTC), (Pair(1, "a"),)), (1, "a"), datetime(2030, 1, 31, tzinfo=UTC),
    date(2030, 1, 31), Decimal("1.10"), UUID(int=5), Shade.DARK, b"\x00\xff", {3, 4}, Pair(2, "b"), {1: Shade.DARK},
]  # fmt: skip
TYPES = [Bill, tuple[int, str], datetime, date, Decimal, UUID, Shade, bytes, set[int], Pair, dict[int, Shade]]


@pytest.fixture
def app(engine_url):
    app = Mainstay(engine_url)
    yield app
    app.close()


def test_a_result_has_the_declared_type(app):
    handles = []
    for n, kind in enumerate(TYPES):

        def handler(n: int):
            return VALUES[n]

        handler.__annotations__["return"] = kind
        handles.append(app.job(name=f"type{n}")(handler))
    with app.worker():
        jobs = [handler.enqueue(n) for n, handler in enumerate(handles)]
        found = [job.result(timeout=30) for job in jobs]
    assert found == VALUES
    assert [type(each) for each in found] == [type(value) for value in VALUES]
    assert Mainstay(store=app.store).handle(jobs[5].id).result() == str(UUID(int=5)), "without the code: plain JSON"


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.engines("sqlite", "memory")
def test_what_interrupts_the_decoding_is_a_failed_attempt(app, error):
    ready = [error]

    class Sized:
        @classmethod
        def model_validate_json(cls, data):
            if ready and len(data) > 1:
                raise ready.pop()
            return cls()

        def model_dump(self, **_):
            return 1

    @app.job(retry=Retry.fixed(2, "1ms", on=ValueError))
    def handler(value: Sized) -> str:
        return "ran"

    from mainstay.core.draft import Draft

    draft = Draft("handler", '{"value":12}', max_attempts=2, backoff="1 1 1.0 0")
    ((id, _),) = app.store.enqueue([draft], app.clock.now())
    with app.worker():
        eventually(lambda: app.get(id).state in ("completed", "dead"), "it ends")
    first, _ = app.attempts(id)
    assert (app.get(id).state, first.outcome, first.error) == ("completed", "failed", error.__name__)
