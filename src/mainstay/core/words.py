"""Numbers as people read them, and commands as they type them."""

from __future__ import annotations


def size(number: int) -> str:
    """Return a number of bytes as text, such as `1.5 MB`."""
    power = min((len(str(number)) - 1) // 3, 4)
    value = number / 1000**power
    return f"{value:.{int(power > 0 and value < 10)}f} {('B', 'KB', 'MB', 'GB', 'TB')[power]}"


def plural(count: int, word: str, words: str = "") -> str:
    """Return `1 job`, `2 jobs`, `1,000 jobs`."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def typed(*words: str) -> str:
    """Return a command of mainstay to type, quoted so that a shell reads it as it is meant."""
    from shlex import join

    return join(["mainstay", *words])
