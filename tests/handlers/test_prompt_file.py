"""The file of an answer is checked by reconciliation, as any other file that a job wrote."""

from mainstay import Mainstay
from mainstay.handlers import files, prompt
from tests.servers.faults import Faults


def test_the_file_of_an_answer_is_checked(mainstay, tmp_path):
    with Faults(then="42") as server:
        app = mainstay.use(Mainstay("sqlite:///:memory:"))
        made = files.register(app, roots=[tmp_path])
        asked = prompt.register(
            app, provider="openai", model="local", base_url=f"{server.url}/v1", api_key="k", folder=tmp_path / "answers"
        )
        (tmp_path / "answers").mkdir()
        job = asked.ask("How many?", target="many/a.txt")
        asked.ask("And without a file?")
        mainstay.drain()
    report = app.reconcile()
    assert (report.checked, report.found) == (2, ())
    (tmp_path / "answers/many/a.txt").write_text("43")
    (found,) = app.reconcile().found
    assert found[:5] == (job.id, "prompt", f"{tmp_path}/answers/many/a.txt", "wrong", "has other content")
    (tmp_path / "answers/many/a.txt").unlink()
    assert app.reconcile().found[0].text == "is missing"
    (tmp_path / "answers/many").rmdir()
    assert app.reconcile().found[0].text == "is missing"
    mainstay.advance("1s")
    made.delete_file.enqueue("answers/many/a.txt")  # the same file, by another type
    mainstay.drain()
    assert app.reconcile().found == ()
