"""Settings: the first source wins, each value knows its source, and no mistake goes unnoticed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.core.errors import ConfigError
from mainstay.core.masking import masked
from mainstay.core.settings import FIELDS, Settings
from mainstay.settings_file import load_settings, read_settings as read


def load(folder, environ=None, **arguments):
    return read(arguments, environ or {}, str(folder))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# Sources


def test_without_any_source_everything_is_its_default(tmp_path):
    found = load(tmp_path)
    assert found == Settings()
    assert (found.url, found.app, found.queues, found.lease, found.app) == ("", "", (), None, "")
    assert (found.concurrency, found.processes, found.grace, found.poll) == (50, 1, "30s", "1s")
    assert (found.log_level, found.log_format) == ("info", "text")
    assert {source for _, _, source in found.explain()} == {"default"}


def test_arguments_win_over_variables_over_the_file_over_defaults(tmp_path):
    file = write(tmp_path / "mainstay.toml", 'url = "redis://file"\nconcurrency = 1\ngrace = "1s"\n')
    environ = {"MAINSTAY_URL": "redis://variable", "MAINSTAY_CONCURRENCY": "2"}
    found = load(tmp_path, environ, url="redis://argument")
    assert (found.url, found.concurrency, found.grace, found.poll) == ("redis://argument", 2, "1s", "1s")
    sources = {field: source for field, _, source in found.explain()}
    assert sources["url"] == "argument"
    assert sources["concurrency"] == "environment MAINSTAY_CONCURRENCY"
    assert sources["grace"] == str(file)
    assert sources["poll"] == "default"


def test_an_argument_that_is_none_and_a_variable_that_is_empty_are_not_given(tmp_path):
    write(tmp_path / "mainstay.toml", 'url = "redis://file"\napp = "file"\n')
    found = load(tmp_path, {"MAINSTAY_URL": "", "MAINSTAY_APP": "variable"}, url=None, app=None)
    assert (found.url, found.app) == ("redis://file", "variable")


def test_the_nearest_file_counts_and_only_that(tmp_path):
    write(tmp_path / "mainstay.toml", 'app = "far"\nconcurrency = 9\n')
    write(tmp_path / "a" / "pyproject.toml", '[tool.mainstay]\napp = "near"\n')
    below = tmp_path / "a" / "b" / "c"
    below.mkdir(parents=True)
    found = load(below)
    assert (found.app, found.concurrency) == ("near", 50)
    assert found.sources["app"] == f"{tmp_path / 'a' / 'pyproject.toml'} [tool.mainstay]"


@pytest.mark.parametrize(
    "content",
    [
        "[project]\nname = 'other'\n",
        "[project]\nname = 'mainstay-shop'\n",
        "tool = 1 # mainstay\n",
        "this is = not TOML",
    ],
)
def test_a_project_that_does_not_speak_of_us_is_passed_over(tmp_path, content):
    write(tmp_path / "mainstay.toml", 'app = "above"')
    write(tmp_path / "a" / "pyproject.toml", content)
    assert load(tmp_path / "a").app == "above"


def test_our_own_file_wins_over_the_project_beside_it(tmp_path):
    write(tmp_path / "mainstay.toml", 'app = "own"')
    write(tmp_path / "pyproject.toml", '[tool.mainstay]\napp = "project"\n')
    assert load(tmp_path).app == "own"


def test_load_reads_the_process_itself(tmp_path, monkeypatch):
    write(tmp_path / "mainstay.toml", 'grace = "9s"')
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MAINSTAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MAINSTAY_APP", "jobs:app")
    found = load_settings(concurrency=3)
    assert (found.grace, found.app, found.concurrency) == ("9s", "jobs:app", 3)


# Databases beside their file


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///jobs.db", "sqlite:///{folder}/jobs.db"),
        ("sqlite:///data/jobs.db?synchronous=normal", "sqlite:///{folder}/data/jobs.db?synchronous=normal"),
        ("sqlite:////var/jobs.db", "sqlite:////var/jobs.db"),
        ("sqlite:///~/jobs.db", "sqlite:///~/jobs.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("postgresql://host/jobs", "postgresql://host/jobs"),
    ],
)
def test_a_relative_database_in_a_file_lies_beside_that_file(tmp_path, url, expected):
    write(tmp_path / "mainstay.toml", f'url = "{url}"')
    below = tmp_path / "below"
    below.mkdir()
    assert load(below).url == expected.format(folder=tmp_path)


def test_a_relative_archive_in_a_file_lies_beside_that_file(tmp_path):
    for given, expected in {
        "old": str(tmp_path / "old"),
        "/srv/old": "/srv/old",
        "s3://bucket/old": "s3://bucket/old",
    }.items():
        write(tmp_path / "mainstay.toml", f'archive = "{given}"')
        assert load(tmp_path).archive == expected
    assert load(tmp_path, {"MAINSTAY_ARCHIVE": "here"}).archive == "here"


def test_the_store_opens_the_file_that_was_meant(tmp_path):
    from mainstay.stores.sqlite.connect import parse_url

    folder = tmp_path / "100%41 odd? name"
    write(folder / "mainstay.toml", 'url = "sqlite:///jobs.db?synchronous=normal"')
    assert parse_url(load(folder).url) == (str(folder / "jobs.db"), {"synchronous": "normal"})


def test_a_relative_database_in_a_variable_is_relative_to_where_one_is(tmp_path):
    assert load(tmp_path, {"MAINSTAY_URL": "sqlite:///jobs.db"}).url == "sqlite:///jobs.db"


# Values


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("url", "postgresql://me@host/jobs", "postgresql://me@host/jobs"),
        ("app", " jobs:app ", "jobs:app"),
        ("queues", "mail, reports,mail", ("mail", "reports")),
        ("concurrency", "8", 8),
        ("processes", "4", 4),
        ("lease", "15s", "15s"),
        ("grace", "0s", "0s"),
        ("poll", "250ms", "250ms"),
        ("log_level", "WARNING", "warning"),
        ("log_format", "json", "json"),
    ],
)
def test_a_value_means_the_same_from_every_source(tmp_path, field, text, value):
    write(tmp_path / "mainstay.toml", f'{field} = "{text}"')
    assert getattr(load(tmp_path), field) == value
    assert getattr(load(tmp_path / "none", {f"MAINSTAY_{field.upper()}": text}), field) == value
    assert getattr(load(tmp_path / "none", **{field: text}), field) == value


def test_a_file_may_use_its_own_types(tmp_path):
    write(tmp_path / "mainstay.toml", 'queues = ["mail", "reports"]\nconcurrency = 8\ngrace = 2.5\n')
    found = load(tmp_path)
    assert (found.queues, found.concurrency, found.grace) == (("mail", "reports"), 8, 2.5)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("url", "jobs.db", "sqlite:///jobs.db, postgresql://"),
        ("url", "sqlite://", "give a URL"),
        ("url", 5, "give a URL"),
        ("app", " ", "give some text"),
        ("queues", "mail,,reports", "give names"),
        ("queues", [1], "give names"),
        ("concurrency", "0", "from 1 to 10,000"),
        ("concurrency", "many", "from 1 to 10,000"),
        ("concurrency", "2.5", "whole number"),
        ("concurrency", -1, "whole number"),
        ("concurrency", True, "whole number"),
        ("processes", 1_001, "from 1 to 1,000"),
        ("lease", "0s", "above zero"),
        ("lease", "30", "give a duration"),
        ("grace", -1, "give a duration"),
        ("grace", "soon", "give a duration"),
        ("poll", 0, "above zero"),
        ("log_level", "inof", 'one of debug, info, warning, error (did you mean "info"?)'),
        ("log_format", "xml", "one of text, json"),
        ("app", "a\0b", "give some text"),
    ],
)
def test_a_bad_value_is_refused_with_its_source_and_what_is_allowed(tmp_path, field, value, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **{field: value})
    assert str(caught.value).startswith(f"{field} = {value!r} (argument): ")
    assert message in str(caught.value)


def test_a_bad_value_names_the_variable_or_the_file_it_stands_in(tmp_path):
    with pytest.raises(ConfigError, match=r"poll = 'x' \(environment MAINSTAY_POLL\)"):
        load(tmp_path, {"MAINSTAY_POLL": "x"})
    write(tmp_path / "mainstay.toml", 'poll = "x"')
    with pytest.raises(ConfigError, match=r"poll = 'x' \(.*mainstay.toml\)"):
        load(tmp_path)


def test_what_is_overruled_is_not_judged(tmp_path):
    write(tmp_path / "mainstay.toml", 'poll = "x"')
    assert load(tmp_path, poll="5s").poll == "5s"


# Names


def test_a_misspelled_argument_variable_or_key_is_an_error_with_the_right_word(tmp_path):
    with pytest.raises(ConfigError, match=r'no setting "concurency" \(did you mean "concurrency"\?\)'):
        load(tmp_path, concurency=5)
    with pytest.raises(ConfigError, match=r'MAINSTAY_CONCURENCY is set.*\(did you mean "MAINSTAY_CONCURRENCY"\?\)'):
        load(tmp_path, {"MAINSTAY_CONCURENCY": "5"})
    write(tmp_path / "mainstay.toml", "log-level = 'info'")
    with pytest.raises(
        ConfigError, match=r'mainstay.toml: there is no setting "log-level" \(did you mean "log_level"\?\)'
    ):
        load(tmp_path)


def test_a_name_unlike_any_other_gets_the_list(tmp_path):
    with pytest.raises(ConfigError, match="there are: MAINSTAY_URL, MAINSTAY_READ_URL, MAINSTAY_APP"):
        load(tmp_path, {"MAINSTAY_XYZZY": "1"})


@pytest.mark.parametrize(
    "name",
    [
        "MAINSTAY_TEST_POSTGRES", "MAINSTAY_SERVICE_HOST", "MAINSTAY_SERVICE_PORT", "MAINSTAY_PORT",
        "MAINSTAY_PORT_80_TCP_ADDR", "MAINSTAY_WORKER_SERVICE_HOST", "MAINSTAY_WORKER_PORT", "MAINSTAYS_URL", "PATH",
    ],
)  # fmt: skip
def test_variables_of_tests_of_kubernetes_and_of_others_are_left_alone(tmp_path, name):
    assert load(tmp_path, {name: "tcp://10.0.0.1:80"}) == Settings()


def test_a_file_that_is_not_toml_says_where(tmp_path):
    write(tmp_path / "mainstay.toml", "url = \n")
    with pytest.raises(ConfigError, match=r"mainstay.toml is not valid TOML.*line 1"):
        load(tmp_path)


def test_a_file_that_is_not_text_says_so(tmp_path):
    (tmp_path / "mainstay.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(tmp_path)


def test_a_folder_of_that_name_is_no_file(tmp_path):
    (tmp_path / "mainstay.toml").mkdir()
    assert load(tmp_path) == Settings()


# For people


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("me:hush@host/db", "me:***@host/db"),
        ("host=h password=hush dbname=x", "host=h password=*** dbname=x"),
        ("host=h password='hu \\'sh' dbname=x", "host=h password=*** dbname=x"),
    ],
)
def test_passwords_are_never_shown_in_what_is_no_url(text, shown):
    assert masked(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hush@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:hu:s@h@host/db", "postgresql://me:***@host/db"),
        ("redis://:hush@host", "redis://:***@host"),
        ("postgresql://host/db?user=me&password=hush&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("redis+sentinel://me:hush@a:1,b:2/name/0", "redis+sentinel://me:***@a:1,b:2/name/0"),
        ("rediss://me:hush@host/0?prefix=a@b", "rediss://me:***@host/0?prefix=a@b"),
        ("redis://host:6379/0?prefix=a@b", "redis://host:6379/0?prefix=a@b"),
        ("postgresql://me:hu?sh@host/db", "postgresql://me:***@host/db"),
        ("mysql+x://me:hush@host/db", "mysql+x://me:***@host/db"),
        ("mysql://me:hu?s=h@host/db", "mysql://me:***@host/db"),
        (
            "postgresql://h/db?listen=postgresql://me:hush@h2/db&x=1",
            "postgresql://h/db?listen=postgresql://me:***@h2/db&x=1",
        ),
        (
            "postgresql://me@h/db?listen=postgresql%3A%2F%2Fme%3Ahush%40h2",
            "postgresql://me@h/db?listen=postgresql://me:***@h2",
        ),
        ("mysql://host/db?password=hu sh&x=1", "mysql://host/db?password=***&x=1"),
        ("postgresql://host/db?sslpassword=hush&x=1", "postgresql://host/db?sslpassword=***&x=1"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("sqlite:///jobs.db", "sqlite:///jobs.db"),
        ("", ""),
    ],
)
def test_passwords_are_never_shown(tmp_path, url, shown):
    assert masked(url) == shown
    if url:
        found = load(tmp_path, url=url)
        assert found.url == url
        assert {field: value for field, value, _ in found.explain()}["url"] == shown
        assert "hush" not in repr(found)


def test_a_refused_url_does_not_show_its_password_either(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {"MAINSTAY_POLL": "postgresql://me:hush@host/db"})
    assert "hush" not in str(caught.value)


def test_settings_are_frozen():
    with pytest.raises(AttributeError):
        Settings().url = "x"
    with pytest.raises(TypeError):
        Settings().sources["url"] = "x"


def test_every_field_is_explained_and_in_the_reference():
    fields = [name for name in Settings._fields if name != "sources"]
    assert list(FIELDS) == fields
    assert [field for field, _, _ in Settings().explain()] == fields
    page = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text()
    rows = [row for row in page.splitlines() if "`MAINSTAY_" in row]
    for field, row in zip(fields, rows, strict=True):
        assert row.startswith(f"| `{field}` | `MAINSTAY_{field.upper()}` | ")
        assert row.count("|") == 5
        assert len(row.split("|")[4].strip()) > 10


def test_every_default_would_be_accepted_if_it_were_given(tmp_path):
    given = {field: value for field, value in Settings()._asdict().items() if value and field != "sources"}
    assert load(tmp_path, **given)._replace(sources={}) == Settings()._replace(sources={})


def test_toml_is_read_only_when_there_is_a_file(tmp_path):
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\nfrom mainstay.settings_file import read_settings as read\n"
        f"read({{}}, {{}}, {str(tmp_path)!r})\nprint('tomllib' in sys.modules, 'msgspec' in sys.modules)"
    )
    write(tmp_path / "pyproject.toml", "[project]\nname = 'other'\n")
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("place", ["environment variable MAINSTAY_URL", "mainstay.toml"])
def test_an_error_about_a_configured_url_says_where_it_comes_from(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    if place == "mainstay.toml":
        monkeypatch.delenv("MAINSTAY_URL", raising=False)
        write(tmp_path / place, 'url = "mysql://me:hush@host/db"\n')
    else:
        monkeypatch.setenv("MAINSTAY_URL", "mysql://me:hush@host/db")
    with pytest.raises(ConfigError) as caught:
        Mainstay()
    (note,) = caught.value.__notes__
    assert note.startswith("the URL comes from")
    assert note.endswith(place)
