"""Help: every command explains itself with an example that works, and the program finds what was meant."""

import shlex
import subprocess
import sys

import pytest

from mainstay import __version__
from mainstay.cli import exits
from mainstay.cli.main import COMMANDS, MEANT, SECTIONS, program


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(run, name):
    result = run(name, "--help")
    assert result.code == 0
    assert f"Usage: mainstay {name}" in result.out
    assert f"mainstay {name}" in result.out.partition("Examples:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_understood(name):
    command = program.get_command(None, name)
    for example in command.examples:
        words = shlex.split(example)
        words = words[words.index("mainstay") + 1 :]
        assert words[0] == name
        arguments = [f" {word}" if word.startswith("-tag:") else word for word in words[1:]]
        command.make_context(name, arguments)


SUBCOMMANDS = {
    f"{name} {sub}": command
    for name in COMMANDS
    for sub, command in getattr(program.get_command(None, name), "commands", {}).items()
}


@pytest.mark.parametrize("path", SUBCOMMANDS)
def test_every_subcommand_has_help_with_examples_that_are_understood(run, path):
    result, command = run(*path.split(), "--help"), SUBCOMMANDS[path]
    assert result.code == 0
    assert f"Usage: mainstay {path}" in result.out
    assert f"mainstay {path}" in result.out.partition("Examples:")[2]
    for example in command.examples:
        words = shlex.split(example)
        assert " ".join(words[:3]) == f"mainstay {path}"
        command.make_context(path, words[3:])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name):
    assert program.get_command(None, name).help.splitlines()[0] == COMMANDS[name][1]


def test_each_command_says_what_its_quiet_option_does():
    options = {
        name: [each for each in program.get_command(None, name).params if each.name == "quiet"] for name in COMMANDS
    }
    helps = {name: found[0].help for name, found in options.items() if found}
    assert helps["ls"] == helps["workers"] == "Print only the ids, one per line."
    assert helps["move"] != helps["doctor"] != helps["enqueue"] != helps["ls"]


def test_the_program_alone_shows_its_commands(run):
    result = run()
    assert result.code == 0
    assert all(f"{title}:" in result.out for title in SECTIONS)
    assert all(f"  {name} " in result.out for name in COMMANDS)
    assert all(f"{code} " in result.out.partition("Exit codes:")[2] for code in exits.MEANINGS)


def test_help_imports_no_command(tmp_path):
    code = "import sys; from mainstay.cli.main import main; main(['--help']); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    loaded = set(out.splitlines()[-1].split())
    assert not {f"mainstay.cli.{module}" for module, _ in COMMANDS.values()} & loaded
    assert not {"sqlite3", "msgspec", "asyncio", "mainstay.app"} & loaded


def test_versions(run, shell):
    assert run("--version").out == f"mainstay {__version__}\n"
    assert run("version").out.startswith(f"mainstay {__version__} · python 3.")
    assert run("version", "-q").out == f"{__version__}\n"
    assert shell("--version").out == f"mainstay {__version__}\n"


@pytest.mark.parametrize(
    ("words", "says", "attempt"),
    [
        (["lss"], 'there is no command "lss" (did you mean "ls"?)', "mainstay ls"),
        (["statuss", "--json"], 'did you mean "status"?', "mainstay status --json"),
        (["throughput"], 'did you mean "stats"?', "mainstay stats"),
        (["unpause", "--all"], 'did you mean "resume"?', "mainstay resume --all"),
        (["list", "state:dead"], 'did you mean "ls"?', "mainstay ls state:dead"),
        (["frobnicate"], 'there is no command "frobnicate"', "mainstay --help"),
        (["ls", "--jsn"], "--jsn", "mainstay ls --help"),
        (["ls", "--limit", "0"], "0", "mainstay ls --help"),
        (["ls", "--json", "--jsonl"], "exclude each other", "mainstay"),
        (["show"], "JOB", "mainstay show --help"),
    ],
)
def test_a_mistake_is_answered_with_what_to_try(run, words, says, attempt):
    result = run(*words)
    assert result.code == exits.USAGE
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert says in result.err
    assert f"try: {attempt}" in result.err


def test_config_says_where_values_come_from(run, tmp_path, monkeypatch):
    (tmp_path / "mainstay.toml").write_text('url = "sqlite:///jobs.db"\nconcurrency = 7\n', encoding="utf-8")
    monkeypatch.setenv("MAINSTAY_APP", "jobs:app")
    lines = {line.split()[0]: line for line in run("config").out.splitlines()}
    assert "mainstay.toml" in lines["url"]
    assert lines["app"].split()[1:] == ["jobs:app", "environment", "MAINSTAY_APP"]
    assert lines["concurrency"].split()[1] == "7"
    assert lines["grace"].endswith("default")


def test_passwords_are_not_shown(run):
    result = run("config", "--url", "postgresql://me:secret@host/db", "--json")
    assert "secret" not in result.out
    assert "postgresql://me:***@host/db" in result.out


def test_no_command_shows_a_password(run):
    for url in ("mysql://me:hush@host/db", "amqp://me:hu?s=h@host", "nonsense:me:hush@host"):
        for words in (["status"], ["doctor"], ["enqueue", "mail"], ["config"], ["ls"], ["migrate"], ["move", url]):
            result = run(*words, *([] if words[0] == "move" else ["--url", url]))
            assert "hu" not in result.out + result.err, words


def test_every_word_that_was_meant_is_a_command():
    assert set(MEANT.values()) <= set(COMMANDS)
    assert not set(MEANT) & set(COMMANDS)
