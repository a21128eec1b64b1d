"""The queues a worker serves: those of its types, or those that are named; every type of its own in each of them."""

import pytest

from mainstay import ConfigError, Mainstay


@pytest.fixture
def app():
    app = Mainstay("sqlite:///:memory:")
    app.job(name="mail", queue="mail")(lambda: "mailed")
    app.job(name="work")(lambda: "worked")
    yield app
    app.close()


@pytest.mark.parametrize(("queue", "named"), [("mail", None), ("other", ["other", "default"])])
def test_a_job_that_a_call_sent_to_another_queue_is_run(app, queue, named):
    job = app.registry.expect("work").options(queue=queue).enqueue()
    with app.worker(queues=named):
        assert job.result(timeout=10) == "worked"


def test_queues_are_served_in_the_order_given(app):
    assert list(app.worker(queues=["default", "mail", "default"]).wants) == ["default", "mail"]


def test_a_type_is_declared_once_however_many_queues_there_are(app):
    with app.worker(queues=["default", "mail"]):
        (worker,) = app.store.workers()
        assert sorted(worker.types) == ["mail", "work"]


def test_a_worker_may_serve_only_a_queue_that_no_type_belongs_to(app):
    job = app.registry.expect("work").options(queue="bulk").enqueue()
    with app.worker(queues=["bulk"]):
        assert job.result(timeout=10) == "worked"


@pytest.fixture
def warned(app):
    found = []
    app.events.on("unknown_queue", lambda queue, hint: found.append(queue + hint))
    return found


def test_a_mistyped_queue_is_served_with_a_warning(app, warned):
    with app.worker(queues=["mial", "default"]):
        assert warned == ['mial (did you mean "mail"?)']


@pytest.mark.parametrize("state", ["queued", "completed"])
def test_a_queue_that_jobs_are_in_is_known(app, warned, state):
    job = app.registry.expect("work").options(queue="bulk").enqueue()
    if state == "completed":
        with app.worker(queues=["bulk"]):
            job.result(timeout=10)
    with app.worker(queues=["bulk", "bukl"]):
        assert warned == ['bukl (did you mean "bulk"?)']


def test_a_queue_that_another_program_declares_is_known(app, warned):
    other = Mainstay(store=app.store)
    other.job(name="resize", queue="images")(lambda: None)
    with other.worker():
        pass
    with app.worker(queues=["images"]):
        assert warned == []


@pytest.mark.parametrize(("given", "told"), [({"queues": []}, "names no queue"), ({"types": []}, "no @app.job")])
def test_a_worker_that_would_serve_no_job_is_a_mistake(app, given, told):
    with pytest.raises(ConfigError, match=f"would serve no job: .*{told}"):
        app.worker(**given)
