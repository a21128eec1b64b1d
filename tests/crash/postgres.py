"""PostgreSQL under the campaign: triggers keep the account of every move in the transaction that makes it."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from tests.simulation.history import Record

from .address import Address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it says of broken connections is expected here
# The server never hears of a client that is gone without a word: it would keep the rows of its transaction locked for ever,
# and the handler that waits on the other end would keep its slot.
CAUTION = "-c idle_in_transaction_session_timeout=2s"
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag")
# What the user has, and the account. `n` rises with every move of one job: its row is locked while the trigger runs.
# Rounded up: cut off, a claim may seem to come before its time.
TABLES = """
CREATE TABLE crash.orders (item text NOT NULL);
CREATE TABLE crash.ledger (item text NOT NULL, job text NOT NULL, token integer NOT NULL);
CREATE TABLE crash.name (seq bigint, id text, max_attempts integer);
CREATE TABLE crash.seen (n bigserial, at bigint, op text, seq bigint, token integer, before text, after text,
    attempt integer, crashes integer, worker text, run_at bigint, cancelling boolean);
CREATE FUNCTION crash.now() RETURNS bigint LANGUAGE sql AS
    $$ SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION crash.named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO crash.name VALUES (new.job, new.id, new.max_attempts);
    RETURN NULL;
END $$;
CREATE TRIGGER crash_named AFTER INSERT ON mainstay.body FOR EACH ROW EXECUTE FUNCTION crash.named();

CREATE FUNCTION crash.moved() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE job mainstay.job := coalesce(new, old); BEGIN
    IF TG_OP = 'UPDATE' AND old.state = new.state AND old.token = new.token AND old.priority = new.priority THEN
        RETURN NULL;
    END IF;
    INSERT INTO crash.seen (at, op, seq, token, before, after, attempt, crashes, worker, run_at, cancelling)
    VALUES (crash.now(), 'move', job.seq, job.token, coalesce(old.state, ''), coalesce(new.state, ''), job.attempt,
        job.crashes, job.worker, job.run_at, job.cancel_at IS NOT NULL);
    RETURN NULL;
END $$;
CREATE TRIGGER crash_moved AFTER INSERT OR UPDATE OR DELETE ON mainstay.job
    FOR EACH ROW EXECUTE FUNCTION crash.moved();

-- Whether a note's attempt held the job when its statement began: a stable function sees what the statement sees. A job that
-- somebody else ends while the statement runs was noted before its end.
CREATE FUNCTION crash.holds(job bigint, token bigint) RETURNS boolean STABLE LANGUAGE sql AS
    $$ SELECT EXISTS (SELECT FROM mainstay.job j WHERE j.seq = $1 AND j.token = $2 AND j.state IN ('running', 'completed')) $$;
CREATE FUNCTION crash.noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO crash.seen (at, op, seq, token, attempt, cancelling)
    SELECT crash.now(), 'note', new.job, new.token, CASE TG_ARGV[0] WHEN 'held' THEN new.token ELSE j.token END,
        TG_ARGV[0] = 'held'
    FROM mainstay.job j WHERE j.seq = new.job;
    RETURN NULL;
END $$;
CREATE TRIGGER crash_held AFTER INSERT OR UPDATE ON mainstay.log FOR EACH ROW
    WHEN (crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('held');
CREATE TRIGGER crash_stale AFTER INSERT OR UPDATE ON mainstay.log FOR EACH ROW
    WHEN (NOT crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('stale');
CREATE TRIGGER crash_held AFTER INSERT OR UPDATE ON mainstay.progress FOR EACH ROW
    WHEN (crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('held');
CREATE TRIGGER crash_stale AFTER INSERT OR UPDATE ON mainstay.progress FOR EACH ROW
    WHEN (NOT crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('stale');
CREATE TRIGGER crash_held AFTER INSERT OR UPDATE ON mainstay.checkpoint FOR EACH ROW
    WHEN (crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('held');
CREATE TRIGGER crash_stale AFTER INSERT OR UPDATE ON mainstay.checkpoint FOR EACH ROW
    WHEN (NOT crash.holds(new.job, new.token)) EXECUTE FUNCTION crash.noted('stale');

CREATE FUNCTION crash.leased() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO crash.seen (at, op, worker, run_at)
    VALUES (crash.now(), 'lease', coalesce(new.id, old.id), coalesce(new.expires_at, 0));
    RETURN NULL;
END $$;
CREATE TRIGGER crash_leased AFTER INSERT OR UPDATE OR DELETE ON mainstay.worker
    FOR EACH ROW EXECUTE FUNCTION crash.leased();
"""
SEEN = """
SELECT s.n, s.at, s.op, coalesce(m.id, '?'), s.token, s.before, s.after, s.attempt, s.crashes, s.worker, s.run_at, s.cancelling,
    m.max_attempts
FROM crash.seen s LEFT JOIN crash.name m ON m.seq = s.seq ORDER BY s.n
"""
STRAY = "SELECT EXISTS (SELECT FROM mainstay.{0} WHERE job NOT IN (SELECT seq FROM mainstay.job))"
AUTOCOMMIT = "SELECT EXISTS (SELECT FROM mainstay.job WHERE seq NOT IN (SELECT job FROM mainstay.body))"


class Postgres:
    """One database on a PostgreSQL server."""

    transactions = True
    errors: tuple[type[Exception], ...] = (psycopg.OperationalError, psycopg.InterfaceError)

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        address = Address(name, folder)
        self.url, self._direct = address.url, address.direct
        self._local = threading.local()

    def prepare(self) -> None:
        with psycopg.connect(self._direct, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA crash")
            connection.execute(TABLES)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A transaction on this thread's connection of the user's own; one that broke is replaced next time."""
        found: Any = getattr(self._local, "connection", None)
        if found is None or found.closed:
            found = self._local.connection = psycopg.connect(self.url, connect_timeout=5, options=CAUTION)
        with found.transaction():
            yield found

    def order(self, tx: Any, item: str) -> None:
        tx.execute("INSERT INTO crash.orders VALUES (%s)", (item,))

    def book(self, tx: Any, item: str, job: str, token: int) -> None:
        tx.execute("INSERT INTO crash.ledger VALUES (%s, %s, %s)", (item, job, token))

    def account(self) -> list[Record]:
        lines = [record(row) for row in self._rows(SEEN)]
        at = lines[-1].at if lines else 0
        return lines + [Record(0, at, "engine", "stray", args={"table": table}) for table in self._strays()]

    def _strays(self) -> list[str]:
        found = [table for table in BELONGINGS if self._rows(STRAY.format(table))[0][0]]
        return [*found, "job"] if self._rows(AUTOCOMMIT)[0][0] else found

    def orders(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT item FROM crash.orders")]

    def ledger(self) -> list[tuple[str, str, int]]:
        return self._rows("SELECT item, job, token FROM crash.ledger")

    def damage(self) -> list[str]:
        """Nothing of the engine's own: PostgreSQL finds damage when it reads, and the audit has read everything."""
        return []

    def close(self) -> None:
        found = getattr(self._local, "connection", None)
        if found is not None:
            found.close()

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._direct, autocommit=True) as connection:
            return connection.execute(statement).fetchall()


def record(row: tuple[Any, ...]) -> Record:
    """A row of the account as a record. Priorities are left out: claims that run at once have no order among them."""
    n, at, op, job, token, before, after, attempt, crashes, worker, run_at, cancelling, most = row
    if op == "note":
        return Record(n, at, "engine", "note", "ok", job, token, {"current": attempt, "running": cancelling})
    if op == "lease":
        return Record(n, at, worker, "lease", "ok", "", 0, {"until": run_at})
    args = {"before": before, "after": after, "attempt": attempt, "crashes": crashes, "worker": worker, "run_at": run_at,
            "max_attempts": most, "cancelling": cancelling}  # fmt: skip
    return Record(n, at, "engine", "move", "ok", job, token, args)
