"""A worker removes what operators did after `audit_keep`, and not before."""

import pytest

from mainstay import Mainstay
from mainstay.core.clock import DAY, HOUR, MINUTE
from mainstay.core.draft import Draft
from mainstay.core.errors import StoreError
from mainstay.upkeep import prune


@pytest.fixture
def app():
    app = Mainstay("sqlite:///:memory:")

    @app.job
    def mail(): ...

    yield app
    app.close()


def acted(app, count, at, actor):
    """Cancel jobs one by one."""
    drafts = [Draft("mail", "{}") for _ in range(count)]
    app.store.enqueue(drafts, at)
    for draft in drafts:
        app.store.cancel([draft.id], at, actor)


def chore(app, keep):
    (found,) = [chore for chore in app.worker(audit_keep=keep).chores if isinstance(chore, prune.PruneActions)]
    return found


def test_a_worker_prunes_by_its_setting(app):
    now = app.clock.now()
    acted(app, 2, now - 20 * DAY, "ada")
    acted(app, 1, now, "bob")
    assert chore(app, "30d").step(now) == HOUR
    assert len(app.actions()) == 3
    assert chore(app, "10d").step(now) == HOUR
    assert [action.actor for action in app.actions()] == ["bob"]


def test_chunks_follow_each_other(app):
    acted(app, prune.CHUNK + 1, 1, "ada")
    pruning, now = chore(app, "365d"), app.clock.now()
    assert [pruning.step(now), len(app.actions()), pruning.step(now), len(app.actions())] == [prune.BETWEEN, 1, HOUR, 0]


def test_an_error_of_the_store_is_reported(app, monkeypatch):
    def fails(*_):
        raise StoreError("gone")

    seen = []
    app.events.on("store_error", lambda **fields: seen.append(fields["wait"]))
    pruning = chore(app, "365d")
    monkeypatch.setattr(app.store, "prune_actions", fails)
    assert pruning.step(0) == MINUTE
    assert seen == [MINUTE]
