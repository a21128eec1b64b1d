"""A traceback for people: the user's frames, and a note in place of those of libraries."""

from mainstay.core.frames import frames, user_lines

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/shop/jobs.py", line 7, in mail
    send(to)
    ^^^^^^^^
  File "/srv/.venv/lib/python3.12/site-packages/smtp/client.py", line 3, in send
    connect()
  File "/usr/lib/python3.12/socket.py", line 9, in connect
    raise OSError("refused")
OSError: refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/jobs.py", line 9, in mail
    raise ValueError(to)
ValueError: ada
"""


def test_frames_of_libraries_are_counted():
    assert user_lines(TRACEBACK) == [
        "Traceback (most recent call last):", '  File "/srv/shop/jobs.py", line 7, in mail', "    send(to)", "    ^^^^^^^^",
        "  … 2 frames of libraries", "OSError: refused", "", "During handling of the above exception, another exception occurred:", "",
        "Traceback (most recent call last):", '  File "/srv/shop/jobs.py", line 9, in mail', "    raise ValueError(to)", "ValueError: ada",
    ]  # fmt: skip


def test_where_there_is_no_frame_of_the_user_all_are_shown():
    text = TRACEBACK.replace("/srv/shop/", "/usr/lib/python3.12/")
    assert user_lines(text) == text.rstrip().split("\n")


def test_other_text_stays():
    assert user_lines("ValueError: no") == ["ValueError: no"]
    assert user_lines("") == [""]


def test_a_frame_has_its_line_of_code():
    assert [(frame.line, frame.function, frame.user, frame.code) for frame in frames(TRACEBACK)] == [
        (7, "mail", True, "send(to)"), (3, "send", False, "connect()"), (9, "connect", False, 'raise OSError("refused")'),
        (9, "mail", True, "raise ValueError(to)"),
    ]  # fmt: skip


def test_a_frame_without_its_source_has_no_code():
    found = frames(
        'Traceback:\n  File "<string>", line 1, in f\n  File "/srv/a.py", line 2, in g\n    go()\nValueError'
    )
    assert [frame.code for frame in found] == ["", "go()"]
