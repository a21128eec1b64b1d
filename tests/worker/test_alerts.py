"""A worker tells at once of a dead job of a critical type; of others within a minute."""

from threading import Event

from mainstay import Mainstay


def test_a_dead_job_of_a_critical_type_is_told_at_once(tmp_path):
    app, told, found = Mainstay(f"sqlite:///{tmp_path}/jobs.db"), Event(), []

    @app.job(name="audit-export", retry=1)
    def export() -> None:
        raise ConnectionError("refused")

    app.events.on("alert", lambda what, alert: (found.append((what, alert)), told.set()))
    with app.worker():
        job = export.enqueue()
        assert told.wait(30)
    ((what, alert),) = found
    assert (what, alert.name, alert.severity, alert.job) == ("opened", "critical:audit-export", "high", job.id)
    app.close()


def test_a_worker_that_serves_no_critical_type_looks_at_no_outcome(tmp_path):
    app, looked = Mainstay(f"sqlite:///{tmp_path}/jobs.db"), Event()

    @app.job
    def mail() -> None: ...

    app.pause()
    app.events.on("alert", lambda **_: looked.set())
    with app.worker():
        assert looked.wait(30)
        assert app.events.listeners("stored") == []
    app.close()
