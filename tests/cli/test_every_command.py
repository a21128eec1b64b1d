"""What holds of every command: data as JSON, and a hint for what is misspelt."""

import click
import pytest

from mainstay.cli import exits
from mainstay.cli.main import program
from tests.cli.shop import Shop

# Commands that print no data, only messages, or whose output is not theirs.
TALK_ONLY = {
    "demo": "shows itself at work, on a store that is gone afterwards",
    "serve": "serves until it is stopped; what it serves is JSON",
}


def commands(group=program, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield " ".join([*path, name]), found
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


EVERY = dict(commands())


@pytest.mark.parametrize("name", EVERY)
def test_every_command_prints_data_as_json(name):
    has = any("--json" in param.opts for param in EVERY[name].params)
    assert has != (name in TALK_ONLY), f"{name}: give it --json, or list it as talk only"


def test_what_is_listed_exists():
    assert TALK_ONLY.keys() <= EVERY.keys()


@pytest.mark.parametrize("name", EVERY)
def test_a_misspelt_option_is_corrected(run, name):
    options = [
        option for param in EVERY[name].params for option in param.opts if option.startswith("--") and len(option) > 6
    ]
    option = max(options, key=len)
    wrong = run(*name.split(), option[:-2] + option[-1] + option[-2] + "x")
    assert wrong.code == exits.USAGE
    assert option in wrong.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("reveiws", "reviews"), ("aprove", "approve"), ("workers shwo", "show"), ("workers drian", "drain"), ("types shwo", "show"),
        ("completoin", "completion"), ("queues sett", "set"), ("settings gte", "get"),
    ],
)  # fmt: skip
def test_a_misspelt_command_is_corrected(run, words, meant):
    wrong = run(*words.split())
    assert (wrong.code, f'did you mean "{meant}"?' in wrong.err) == (exits.USAGE, True)


@pytest.mark.parametrize(
    "words",
    [
        "types show resiez", "types set resiez timeout=2m", "types reset resiez", "pause --type resiez", "disable resiez",
        "breaker open resiez", "enqueue resiez", "edit type resiez", "resume --type resiez", "enable resiez",
    ],
)  # fmt: skip
def test_a_misspelt_type_is_corrected(run, app, words):
    _known(app)
    wrong = run(*words.split())
    assert wrong.code != exits.OK
    assert 'did you mean "resize"?' in wrong.err


@pytest.mark.parametrize(
    "words", ["pause --queue imagse", "edit queue imagse", "resume --queue imagse", "queues reset imagse"]
)
def test_a_misspelt_queue_is_corrected(run, app, words):
    _known(app)
    wrong = run(*words.split())
    assert wrong.code != exits.OK
    assert 'did you mean "images"?' in wrong.err


def _known(app):
    """A type and a queue that a worker has registered."""
    from mainstay.core.job import TypeInfo

    app.store.register_types([TypeInfo("resize", "images", "resize()", {}, 1)])
    Shop(app).join(["resize"])
