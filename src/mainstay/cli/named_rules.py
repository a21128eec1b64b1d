"""The commands `enable`, `disable` and `remove` of rules with a name: subscriptions and receivers of webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .changing import advised, report
from .groups import changes, subcommand
from .quoting import typed

if TYPE_CHECKING:
    from .groups import By, Group
    from .options import Target
    from .output import Output

_UNDO = {"enable": "disable", "disable": "enable", "remove": ""}


def add_verbs(group: Group, word: str, **texts: tuple[str, str]) -> None:
    """Add subcommands to a group, each a verb of `app.GROUP` by its name, with an example and a help text; `word` names one rule."""
    for verb, (example, help) in texts.items():
        _add_verb(group, word, verb, example, help)


def _add_verb(group: Group, word: str, verb: str, example: str, help: str) -> None:
    @changes()
    def run(target: Target, output: Output, by: By, name: str) -> int:
        return _changed(target, output, by, str(group.name), word, verb, name)

    run.__doc__ = help
    subcommand(group, verb, example)(click.argument("name")(run))


def _changed(target: Target, output: Output, by: By, group: str, word: str, verb: str, name: str) -> int:
    """Run a verb on one rule, and print what it changed."""
    with target.open() as app, advised(group, f"{group} {verb}"):
        change = getattr(getattr(app, group), verb)(name, **by._asdict())
    told = f"the {word} {name} is {verb.removesuffix('e')}ed{'' if change.changed else ' already'}."
    return report(output, [change], by, told, typed(group, _UNDO[verb], name, target=target) if _UNDO[verb] else "")
