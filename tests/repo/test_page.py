"""The runner of examples notices what it should: an example that lies fails."""

import pytest

from tests.repo.test_docs import run


@pytest.fixture
def outcome(tmp_path):
    """Runs a page made of these lines and answers what went wrong."""

    def of(*lines):
        page = tmp_path / "page.md"
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return run(page, tmp_path)

    return of


def test_python_blocks_share_a_namespace(outcome):
    assert outcome("```python", "a = 1", "```", "and then", "```python", "assert a == 1", "```") == ""


def test_a_failing_python_block_is_named_with_its_line_in_the_page(outcome):
    wrong = outcome("# title", "", "```python", "assert 1 == 2", "```")
    assert 'page.md", line 4' in wrong
    assert "assert 1 == 2" in wrong


def test_handlers_can_be_inspected_as_in_a_script(outcome):
    lines = ["import sys, typing", "def f(a: 'int'): ...", "assert typing.get_type_hints(f) == {'a': int}"]
    assert outcome("```python", *lines, "assert sys.modules[f.__module__].f is f", "```") == ""


def test_console_output_must_match(outcome):
    assert outcome("```console", "$ echo one", "one", "$ echo two; echo three >&2", "two", "three", "```") == ""
    assert "printed:\none\n" in outcome("```console", "$ echo one", "two", "```")


def test_output_that_is_not_shown_fails(outcome):
    assert "printed:\none\n" in outcome("```console", "$ echo one", "```")


def test_an_ellipsis_stands_for_any_text_and_for_any_lines(outcome):
    assert outcome("```console", "$ echo job 017 done", "job ... done", "```") == ""
    assert outcome("```console", "$ printf 'a\\nb\\nc\\nd\\n'", "a", "...", "d", "```") == ""
    assert outcome("```console", "$ printf 'a\\nb\\n'", "a", "...", "x", "```") != ""


def test_a_command_that_fails_fails_the_page(outcome):
    assert "exit status 3" in outcome("```console", "$ (exit 3)", "```")
    assert "exit status none" in outcome("```console", "$ exit 3", "$ true", "```")


def test_one_shell_serves_a_block(outcome):
    lines = ["$ name=value", "$ echo $name \\", "  twice $name", "value twice value"]
    assert outcome("```console", *lines, "```") == ""


def test_a_process_left_in_the_background_does_not_hold_up_the_page(outcome):
    assert outcome("```console", "$ tail -f /dev/null &", "```") == ""


def test_the_commands_of_the_environment_come_first(outcome):
    lines = ["$ python -c 'import sys, pytest; print(sys.prefix != sys.base_prefix)'", "True"]
    assert outcome("```console", *lines, "```") == ""


def test_a_block_is_saved_instead_of_run(outcome):
    saved = ["<!-- file: jobs.py -->", "```python", "value = 7", "1 / 0 if __name__ == '__main__' else None", "```"]
    used = ["```python", "import jobs", "assert jobs.value == 7", "```", "```console", "$ head -n 1 jobs.py"]
    assert outcome(*saved, "", *used, "value = 7", "```") == ""


def test_a_block_is_left_out_only_with_a_reason(outcome):
    block = ["```python", "1 / 0", "```"]
    assert outcome("<!-- not run: needs a server -->", *block) == ""
    assert outcome("<!-- not run: needs", "a server -->", "", *block) == ""
    assert "must say" in outcome("<!-- not run: -->", *block)
    assert "must say" in outcome("<!-- not run -->", *block)
    assert "ZeroDivisionError" in outcome("<!-- some other remark -->", *block)


def test_a_remark_counts_only_for_the_block_right_after_it(outcome):
    block = ["```python", "1 / 0", "```"]
    assert "ZeroDivisionError" in outcome("<!-- not run: not this one -->", "some text", *block)


def test_blocks_in_lists_and_other_languages(outcome):
    assert outcome("1. first", "", "   ```python", "   if True:", "       a = 1", "   ```") == ""
    assert outcome("```", "$ text", "```", "```json", "{", "```") == ""
    assert outcome("````markdown", "```python", "1 / 0", "```", "````") == ""
