"""The crash campaign in short, on every engine: `python -m tests.crash.campaign` runs it at length."""

import pytest

from mainstay.core.clock import SystemClock
from mainstay.stores import open_store
from tests.contract.building import Desk
from tests.crash.campaign import Plan, run
from tests.crash.engines import ENGINES
from tests.servers.engines import WHEELS

pytestmark = pytest.mark.slow
SHORT = 2.0  # seconds, the lease on servers: nobody sees a killed process there before it is over
RECOVERY = 20.0  # seconds in which a dead worker's jobs start again where nobody has changed the lease
POSTGRES = [name for name in WHEELS if name.startswith("postgres")][-1:]
REDIS = ["valkey"]


def test_killed_and_paused_processes_lose_nothing_and_record_nothing_twice(tmp_path):
    report = run(Plan(kills=40, stops=10, seed=2), tmp_path)
    assert report.findings == []
    assert report.figures["SIGKILLs"] >= 40
    assert report.figures["SIGSTOPs past the lease"] == 10
    assert report.figures["started again after a fault"] > 0
    assert report.figures["leases lost"] > 0


@pytest.mark.parametrize("server", WHEELS)
def test_nor_do_they_on_a_server(server, tmp_path):
    report = run(Plan(kills=10, stops=3, seed=2, engine=server, lease=SHORT), tmp_path)
    assert report.findings == []
    assert report.figures["SIGKILLs"] >= 10
    assert report.figures["SIGSTOPs past the lease"] == 3
    assert report.figures["started again after a fault"] > 0
    assert report.figures["leases lost"] > 0


@pytest.mark.parametrize("server", [*POSTGRES, *REDIS])
def test_the_jobs_of_a_dead_worker_start_again_in_time_with_the_lease_that_the_store_chose(server, tmp_path):
    report = run(Plan(kills=4, stops=0, seed=3, engine=server), tmp_path)
    assert report.findings == []
    assert 0 < report.figures["recovery max s"] <= RECOVERY


STRUCK = [
    *(("restart", server, 4) for server in [*POSTGRES, *REDIS]),
    *(("terminate", server, 4) for server in [*POSTGRES, *REDIS]),
    *(("listener", server, 2) for server in POSTGRES),
    *(("connections", server, 6) for server in [*POSTGRES, *REDIS]),
]


@pytest.mark.parametrize(("outage", "server", "strikes"), STRUCK)
def test_outages_of_the_server_lose_nothing_and_work_goes_on_within_five_seconds(outage, server, strikes, tmp_path):
    """Restarts of PostgreSQL are immediate shutdowns, those of Redis kills, with every write on disk."""
    report = run(Plan(kills=0, stops=0, seed=4, engine=server, outage=outage, strikes=strikes), tmp_path)
    assert report.findings == []
    assert strikes == report.figures[f"outages of the server ({outage})"]


# the campaign itself ------------------------------------------------------------------------------------------------
@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ["sqlite", *POSTGRES, *REDIS])
def test_the_campaign_catches_a_finish_without_its_token_guard(where, tmp_path):
    """A pause must meet the moment between an outcome and its writing: most often the first of these campaigns has one."""
    seeds = (tmp_path / str(seed) for seed in range(6))
    assert any(caught(folder, "unfenced", where, stops=8)["recorded twice"] for folder in seeds)


def test_the_campaign_catches_a_store_that_forgets(tmp_path):
    assert caught(tmp_path / "only", "forgetful", kills=15)["lost"] > 0


@pytest.mark.parametrize("where", POSTGRES)
def test_the_account_tells_a_note_of_the_attempt_that_holds_the_job_from_a_stale_one(where, tmp_path):
    engine = ENGINES[where](tmp_path)
    with open_store(engine.url, SystemClock()) as store:
        desk = Desk(store, SystemClock())
        engine.prepare()
        seq = desk.run().seq
        with engine.transaction() as tx:
            for token in (0, 1):
                tx.execute("INSERT INTO mainstay.log VALUES (%s, %s, 1, 0, 'info', NULL, 'a line')", (seq, token))
    engine.close()
    updates = [record for record in engine.account() if record.op == "note"]
    assert [(note.token, note.args["running"]) for note in updates] == [(0, False), (1, True)]


def caught(folder, broken, engine="sqlite", kills=0, stops=0):
    assert engine in ENGINES
    folder.mkdir()
    return run(Plan(kills, stops, seed=len(folder.name), broken=broken, engine=engine), folder).figures
