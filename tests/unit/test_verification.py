"""`verify=` and `subject=` are checked where a type is declared."""

import pytest

from mainstay import Mainstay, UsageError


def holds(job):
    return None


def run(items: list[str]) -> None: ...


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"verify": "path"}, "give a function that takes a completed Job"),
        ({"subject": holds}, "subject= needs verify="),
        ({"verify": holds, "subject": "path"}, r"give by\('path'\), or a function"),
        ({"verify": holds, "batch": 3}, "a batch type has none"),
    ],
)
def test_mistakes_are_named(given, text):
    with pytest.raises(UsageError, match=text):
        Mainstay("sqlite:///:memory:").job(name="save", **given)(run)
