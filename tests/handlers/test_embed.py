"""Texts become vectors in the application's own tables, batch by batch, with a real model on SQLite and on PostgreSQL with pgvector."""

import json
import pathlib
import sqlite3
from contextlib import closing

import psycopg
import pytest
import sqlalchemy

from mainstay import ConfigError
from mainstay.core.outcome import Stopping
from mainstay.handlers import embed
from mainstay.handlers.embed import Rows, Space
from mainstay.testing import Trial
from tests.servers.engines import postgres_server

TEXTS = ["Anna prefers tea in the morning.", "Anna likes to drink tea each morning.", "The build fails on Windows."]
TABLES = """
CREATE TABLE vectors (id TEXT PRIMARY KEY, vector {vector}, about {json});
CREATE TABLE memories (id INTEGER PRIMARY KEY, text TEXT, embedding_id TEXT, vector {vector});
"""


@pytest.fixture(scope="module")
def model():
    wordllama = pytest.importorskip("wordllama")
    folder = pathlib.Path(wordllama.__file__).parent
    loaded = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda texts: loaded.embed(texts, norm=True)


def lengths(texts):
    """An embedder of two numbers."""
    return [[float(len(text)), 1.0] for text in texts]


class OnSqlite:
    def __init__(self, folder):
        self.connect = lambda: sqlite3.connect(folder / "app.db")
        self.run(TABLES.format(vector="TEXT", json="TEXT"))

    def run(self, script):
        with closing(self.connect()) as connection:
            connection.executescript(script)

    def rows(self, query):
        with closing(self.connect()) as connection:
            return connection.execute(query).fetchall()


class OnPostgres:
    def __init__(self, url):
        self.connect = lambda: psycopg.connect(url)
        self.run("CREATE EXTENSION vector;" + TABLES.format(vector="vector(256)", json="jsonb"))

    def run(self, script):
        with self.connect() as connection:
            connection.execute(script)

    def rows(self, query):
        with self.connect() as connection:
            return connection.execute(query).fetchall()


@pytest.fixture(params=["sqlite", "postgres18"])
def base(request, tmp_path):
    if request.param == "sqlite":
        yield OnSqlite(tmp_path)
        return
    with postgres_server("18").database() as url:
        yield OnPostgres(url)


@pytest.fixture
def small(tmp_path):
    return OnSqlite(tmp_path)


def register(app, base, embedder=lengths, **more):
    settings = {
        "spaces": {"memories": Space("vectors", metadata="about")}, "updates": {"memories": ["embedding_id"]},
        "rows": {"notes": Rows("memories")}, **more,
    }  # fmt: skip
    app.registry.clear()  # some tests register another embedder
    return embed.register(app, embedder=embedder, connect=base.connect, **settings)


def ended(kit, job):
    kit.drain(raises=False)
    return job.job()


def items(count):
    return [{"text": "x" * n, "source_id": n} for n in range(1, count + 1)]


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_of_a_real_model_are_stored_and_their_rows_point_to_them(kit, app, base, model):
    base.run("INSERT INTO memories (id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    made = register(app, base, model)
    given = [{"text": text, "source_id": n, "metadata": {"n": n}} for n, text in enumerate(TEXTS, 1)]
    given[2]["embedding_id"] = "mine"
    result = ended(kit, made.embed.enqueue(given, "memories", "memories", "embedding_id")).result
    assert (result["total"], result["succeeded"], result["failed"]) == (3, 3, 0)
    assert [each["source_id"] for each in result["results"]] == [1, 2, 3]
    ids = [each["embedding_id"] for each in result["results"]]
    assert ids[2] == "mine"
    assert base.rows("SELECT id, embedding_id FROM memories ORDER BY id") == list(enumerate(ids, 1))
    stored = {
        key: (json.loads(vector), about) for key, vector, about in base.rows("SELECT id, vector, about FROM vectors")
    }
    assert stored["mine"][1] in ({"n": 3}, '{"n": 3}')
    tea, again, build = (stored[key][0] for key in ids)
    assert (len(tea), round(cosine(tea, tea), 3)) == (256, 1.0)
    assert cosine(tea, again) > 0.6 > cosine(tea, build)


def test_rows_get_the_vectors_of_their_own_texts(kit, app, base, model):
    base.run("INSERT INTO memories (id, text) VALUES (1, 'tea'), (2, NULL), (3, 'coffee')")
    result = ended(kit, register(app, base, model).embed_rows.enqueue("notes", [1, 2, 3, 4])).result
    assert (result["succeeded"], result["failed"]) == (2, 2)
    assert [each["success"] for each in result["results"]] == [True, False, True, False]
    assert "no such row" in result["results"][1]["error"]
    assert [bool(vector) for _, vector in base.rows("SELECT id, vector FROM memories ORDER BY id")] == [
        True,
        False,
        True,
    ]


def test_pgvector_finds_the_nearest(kit, app, model):
    with postgres_server("18").database() as url:
        base = OnPostgres(url)
        ended(
            kit,
            register(app, base, model).embed.enqueue(
                [{"text": text, "embedding_id": text} for text in TEXTS], "memories"
            ),
        )
        (asked,) = model(["morning drink"])
        near = f"SELECT id FROM vectors ORDER BY vector <=> '{json.dumps(asked.tolist())}' LIMIT 1"
        assert base.rows(near)[0][0] in TEXTS[:2]
        bad = register(app, base, lengths).embed.enqueue([{"text": "x"}], "memories")
        assert "expected 256 dimensions" in ended(kit, bad).error


# batches --------------------------------------------------------------------------------------------------------------
def test_batches_of_32_with_progress_for_each(app, small):
    sizes = []
    made = register(app, small, lambda texts: sizes.append(len(texts)) or lengths(texts))
    trial = Trial(made.embed)
    trial.run(items(70), "memories")
    assert sizes == [32, 32, 6]
    said = [(round(each.done, 2), json.loads(each.details)) for each in trial.progress]
    assert said[0] == (0.0, {"phase": "embedding", "batch": 1, "batches": 3})
    assert [done for done, _ in said] == [0.0, 0.27, 0.53, 1.0]
    assert said[-1][1] == {"phase": "complete"}


STRANGE = ValueError("a strange text")


def fails_on(size, error=STRANGE):
    def embedder(texts):
        if size in map(len, texts):
            raise error
        return lengths(texts)

    return embedder


def test_a_batch_that_fails_does_not_stop_the_others(kit, app, small):
    job = ended(kit, register(app, small, fails_on(40)).embed.enqueue(items(70), "memories"))
    assert (job.state, job.attempt) == ("completed", 1)
    result = job.result
    assert (result["total"], result["succeeded"], result["failed"]) == (70, 38, 32)
    failed = [each for each in result["results"] if not each["success"]]
    assert [each["source_id"] for each in failed] == list(range(33, 65))
    assert failed[0] == {"source_id": 33, "embedding_id": None, "success": False, "error": "ValueError: a strange text"}
    assert small.rows("SELECT count(*) FROM vectors") == [(38,)]
    assert [line.level for line in app.logs(job.id)] == ["warning"]


def test_when_every_batch_fails_the_job_is_tried_again(kit, app, small):
    broken = [True]

    def embedder(texts):
        if broken:
            raise ValueError("no model")
        return lengths(texts)

    job = register(app, small, embedder).embed.enqueue(items(40), "memories")
    kit.drain(retries=False)
    assert "no text of 40 could be embedded: ValueError: no model" in job.job().error
    broken.clear()
    kit.drain()
    assert job.result()["succeeded"] == 40


def test_trouble_that_passes_is_tried_again_from_the_checkpoint(kit, app, small):
    calls = []

    def embedder(texts):
        calls.append(len(texts))
        if len(calls) == 2:
            raise ConnectionResetError
        return lengths(texts)

    job = ended(kit, register(app, small, embedder).embed.enqueue(items(70), "memories"))
    assert (job.attempt, job.result["succeeded"], calls) == (2, 70, [32, 32, 32, 6])


def test_trouble_that_does_not_pass_is_noted_by_the_last_attempt(kit, app, small):
    job = ended(kit, register(app, small, fails_on(40, TimeoutError("slow"))).embed.enqueue(items(70), "memories"))
    assert (job.state, job.attempt, job.result["failed"]) == ("completed", 3, 32)


def test_an_attempt_that_ends_between_its_transaction_and_its_checkpoint_stores_the_same_ids_again(kit, app, small):
    class Cut(sqlite3.Connection):
        """Loses its connection after the second commit: nobody has said whether it was done."""

        commits = 0

        def commit(self):
            super().commit()
            Cut.commits += 1
            if Cut.commits == 2:
                raise sqlite3.OperationalError("gone")

    place = small.rows("PRAGMA database_list")[0][2]
    small.connect = lambda: sqlite3.connect(place, factory=Cut)
    job = ended(kit, register(app, small).embed.enqueue(items(70), "memories"))
    assert (job.attempt, Cut.commits) == (2, 4)
    ids = {each["embedding_id"] for each in job.result["results"]}
    assert {key for (key,) in small.rows("SELECT id FROM vectors")} == ids
    assert len(ids) == 70


def test_a_worker_that_stops_does_so_after_a_batch(app, small):
    trial = Trial(register(app, small).embed, stopping=True)
    with pytest.raises(Stopping):
        trial.run(items(40), "memories")
    assert (trial.saved["batches"], small.rows("SELECT count(*) FROM vectors")) == (1, [(32,)])


@pytest.mark.parametrize(
    "answer", [lambda texts: [], lambda texts: [[]] * len(texts), lambda texts: [[float("nan")]] * len(texts)]
)
def test_an_embedder_that_returns_nonsense(kit, app, small, answer):
    job = ended(kit, register(app, small, answer).embed.enqueue(items(3), "memories"))
    assert (job.state, job.attempt) == ("dead", 3)
    assert "a vector of finite numbers for each of 3 texts" in job.error


def test_no_items_are_no_error(kit, app, small):
    job = ended(kit, register(app, small).embed.enqueue([], "memories"))
    assert job.result == {"total": 0, "succeeded": 0, "failed": 0, "results": []}


# names ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("memorys",), 'did you mean "memories"?'), (("vectors; DROP TABLE vectors",), "is not allowed"),
        (("memories", "vectors", "vector"), "update_table 'vectors' is not allowed"),
        (("memories", "memories", "text = 1; --"), "is not allowed"), (("memories", "memories"), "update_column '' is not allowed"),
        (("memories", None, "embedding_id"), "update_table '' is not allowed"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_configured_is_dead_at_once(kit, app, small, args, says):
    called = []
    job = ended(kit, register(app, small, called.append).embed.enqueue(items(3), *args))
    assert (job.state, job.attempt, called) == ("dead", 1, [])
    assert says in job.error


@pytest.mark.parametrize(
    "settings",
    [
        {"spaces": {"x": Space('v" --')}}, {"rows": {"x": Rows("notes", text="a b")}}, {"updates": {"notes": ["x;"]}},
        {"spaces": {}, "rows": {}}, {"batch": 0}, {"updates": {"a.b.c": []}}, {"spaces": {"x": Space("1st")}},
        {"spaces": {"x": "v"}}, {"rows": {"x": Space("v")}},
    ],
)  # fmt: skip
def test_settings_are_checked(app, small, settings):
    with pytest.raises(ConfigError):
        register(app, small, **settings)


def test_the_embedder_and_connect_are_functions(app):
    with closing(sqlite3.connect(":memory:")) as one:
        for wrong in ({"embedder": "model"}, {"connect": "memory.db"}, {"connect": one}):
            given = {"embedder": list, "connect": lambda: one, "spaces": {"x": Space("v")}} | wrong
            with pytest.raises(ConfigError, match="are functions"):
                embed.register(app, **given)


def test_sqlalchemy_and_other_connections(kit, app, small, tmp_path):
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'app.db'}")
    small.connect = engine.raw_connection
    packed = register(app, small, encode=lambda vector: ",".join(map(str, vector)))
    assert ended(kit, packed.embed.enqueue(items(1), "memories")).result["succeeded"] == 1
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "app.db")) as connection:
        assert connection.execute("SELECT vector FROM vectors").fetchall() == [("1.0,1.0",)]
    small.connect = object
    job = ended(kit, register(app, small).embed.enqueue(items(1), "memories"))
    assert "DB-API connection" in job.error


def test_a_database_that_is_locked_is_no_fault_of_a_batch(kit, app, small):
    small.connect = lambda made=small.connect: _impatient(made())
    job = register(app, small).embed.enqueue(items(3), "memories")
    with closing(sqlite3.connect(small.rows("PRAGMA database_list")[0][2])) as other:
        other.execute("BEGIN EXCLUSIVE")
        kit.drain(retries=False)
        other.rollback()
    assert "database is locked" in job.job().error
    kit.drain()
    assert job.result()["succeeded"] == 3


def _impatient(connection):
    connection.execute("PRAGMA busy_timeout = 0")
    return connection
