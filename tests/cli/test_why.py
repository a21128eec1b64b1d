"""`why`, and `show` of a waiting job: the true reason first, and the command that changes it."""

import json

import pytest

from mainstay import Limit
from mainstay.cli import exits
from mainstay.core.clock import HOUR
from tests.servers.engines import ENGINES

from .shop import FAILED, Shop
from .test_control import NAMES


@pytest.fixture(params=NAMES)
def url(request, tmp_path):
    with ENGINES[request.param](tmp_path) as url:
        yield url


@pytest.fixture
def shop(app):
    shop = Shop(app)
    shop.join(["mail"])
    return shop


def reasons(run, job):
    """Each reason of a job: its kind and what to type."""
    result = run("why", job, "--json")
    assert result.code == exits.OK, result.err
    return [(reason["kind"], *reason["next"]) for reason in json.loads(result.out)["reasons"]]


def limited(app, type="mail", **rules):
    @app.job(name=type, limit=Limit(name="api", **rules))
    def function() -> None: ...

    app.store.register_types([function.info(app.clock.now())])
    return function


def test_a_pause_is_the_first_reason_and_the_next_follow(run, shop):
    job = shop.add("thumb", queue="images")
    run("pause", "--queue", "images", "--reason", "gateway maintenance", "--actor", "ada")
    run("pause", "--all", "--actor", "ada")
    assert reasons(run, job) == [
        ("paused", "mainstay resume --all"), ("paused", "mainstay resume --queue images"),
        ("worker", "mainstay worker --app …"),
    ]  # fmt: skip
    out = run("why", job).out
    assert " 2. the queue images is paused since" in out
    assert "by ada: gateway maintenance\n    → mainstay resume --queue images\n" in out
    assert "the queue images is paused since" in run("show", job).out.partition("waiting because")[2]


def test_a_job_that_may_start_at_any_moment(run, shop):
    job = shop.add()
    assert reasons(run, job) == [("ready",)]
    assert " it may start at any moment\n" in run("why", job).out


def test_a_full_limit_and_the_place_in_its_line(run, shop):
    mail = limited(shop.app, running=1)
    first, second, third = (mail.enqueue().id for _ in range(3))
    assert reasons(run, third)[:2] == [
        ("limit", "mainstay limits set api --running 2"), ("behind", "mainstay ls state:blocked queue:default"),
    ]  # fmt: skip
    assert f"the limit api is full: 1 hold it: {first}; 2 wait in line" in run("why", second).out
    run("limits", "set", "api", "--running", "2")
    assert reasons(run, second)[0][0] != "limit"


def test_a_rate(run, shop):
    mail = limited(shop.app, rate="1/h")
    first, second = mail.enqueue().id, mail.enqueue().id
    (claimed,) = shop.store.claim(shop.worker, {"default": ["mail"]}, 1, shop.app.clock.now()).jobs
    assert claimed.id == first
    kind, step = reasons(run, second)[0]
    assert (kind, step) == ("rate", "mainstay limits set api --rate N/s")
    assert "(1/h) permits the next start at" in run("why", second).out


def test_parents(run, shop):
    parent = shop.add()
    child = shop.app.enqueue("mail", {}, after=[parent]).id
    assert reasons(run, child)[0] == ("parents", f"mainstay why {parent}")


def test_retrying_scheduled_review_and_ended(run, shop):
    assert reasons(run, failed := shop.end(FAILED))[0] == ("retrying", f"mainstay retry {failed}")
    later = shop.add(run_at=shop.app.clock.now() + HOUR)
    assert reasons(run, later)[0] == ("scheduled", f"mainstay retry {later}")
    assert reasons(run, held := shop.review()) == [("review", f"mainstay approve {held}", f"mainstay reject {held}")]
    assert reasons(run, done := shop.end()) == [("ended", f"mainstay retry {done} --copy")]
    assert reasons(run, running := shop.claim().id)[0] == ("running", f"mainstay logs {running} --follow")


def test_a_job_that_is_not_there(run, shop):
    result = run("why", "nope")
    assert (result.code, result.out) == (exits.MISSING, "")
    assert "try: mainstay ls" in result.err
    assert run("why", "state:dead").code == exits.USAGE
