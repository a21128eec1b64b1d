"""The colours of the commands: a terminal is light or dark, and nobody tells them which."""

import pytest

from mainstay.cli.output import STYLES

STEPS = (0, 95, 135, 175, 215, 255)
COLOURS = {name: int(style.removeprefix("38;5;")) for name, style in STYLES.items() if style.startswith("38;5;")}


def rgb(number):
    """A colour of the 256 that terminals know: a cube of 6 × 6 × 6, then greys."""
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    number -= 16
    return STEPS[number // 36], STEPS[number // 6 % 6], STEPS[number % 6]


def luminance(colour):
    """As WCAG 2 defines it."""
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in (part / 255 for part in colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_is_read_on_white_and_on_black(name):
    light = luminance(rgb(COLOURS[name]))
    assert min(1.05 / (light + 0.05), (light + 0.05) / 0.05) > 3.9  # no colour has more than 4.6 on both
