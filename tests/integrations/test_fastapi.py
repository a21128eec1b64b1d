"""The example of FastAPI with SQLAlchemy on the page about transactions: a client is told of a job only once it is committed."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from mainstay import Mainstay

PAGE = Path(__file__).parents[2] / "docs/how-to/transactions.md"
EXAMPLE = re.search(r"```python\n(from fastapi .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]


@pytest.fixture
def app(tmp_path):
    with closing(Mainstay(f"sqlite:///{tmp_path / 'shop.db'}")) as app:
        yield app


@pytest.fixture
def web(app, tmp_path):
    """The example's application, on a SQLite file in place of its server."""

    @app.job
    def confirm(order: int) -> None: ...

    place = f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}"
    code = EXAMPLE.replace("postgresql+asyncpg://shop@db/shop", place)
    example = {"Mainstay": lambda _: app, "Order": Order, "confirm": confirm}
    exec(compile(code, PAGE.name, "exec"), example)

    async def tables():
        async with example["engine"].begin() as connection:
            await connection.run_sync(Base.metadata.create_all)

    example["web"].router.on_startup.append(tables)
    with TestClient(example["web"], raise_server_exceptions=False) as client:
        yield client


def test_a_client_is_told_of_a_job_that_is_there(app, web):
    made = web.post("/orders", params={"item": "tea"})
    assert made.status_code == 200, made.text
    assert app.get(made.json()["job"]).args == {"order": made.json()["order"]}


def test_a_commit_that_fails_is_an_error_to_the_client(app, web):
    def refuse(_):
        raise RuntimeError("the disk is full")

    first = web.post("/orders", params={"item": "tea"}).json()["job"]
    event.listen(Session, "before_commit", refuse)
    try:
        status = web.post("/orders", params={"item": "coffee"}).status_code
    finally:
        event.remove(Session, "before_commit", refuse)
    assert (status, [job.id for job in app.list()]) == (500, [first])
