"""What secrets look like in a text: patterns, each with the letters that a text must have before the pattern is tried.

A pattern starts only where a word starts, and its repetitions are bounded or possessive: the time grows with the length of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable


class Pattern(NamedTuple):
    """One kind of secret. `{mark}` in `shown` stands for the mark that replaces it."""

    # One of them is in each text that has such a secret, in lower case; none: the pattern is always tried.
    needles: tuple[str, ...]
    regex: str
    shown: str = "{mark}"
    check: Callable[[re.Match[str]], bool] = lambda found: True
    hint: str = ""  # without needles: a regex that is found in each text with such a secret, and found faster


def _digits(text: str) -> list[int]:
    return [int(c) for c in text if c.isdecimal()]


def is_card_number(text: str) -> bool:
    """Whether digits are the number of a payment card: an issuer's prefix, its length, and the check digit (Luhn)."""
    digits = _digits(text)
    start, size = int("".join(map(str, digits[:4]))), len(digits)
    issued = (
        (size == 16 and (start // 1000 == 4 or 5100 <= start < 5600 or 2221 <= start <= 2720 or 3528 <= start < 3590))
        or (size == 15 and start // 100 in (34, 37))
        or (size == 14 and (3000 <= start < 3060 or start // 100 in (36, 38, 39)))
        or (size >= 16 and (start == 6011 or 6440 <= start < 6600 or 6200 <= start < 6300))
    )
    doubled = [sum(divmod(digit * 2, 10)) for digit in digits[-2::-2]]
    return issued and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_account_number(text: str) -> bool:
    """Whether the check digits of an account number (IBAN) are right (ISO 7064, 97-10)."""
    text = text.replace(" ", "")
    return 15 <= len(text) <= 34 and int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def is_basic(found: re.Match[str]) -> bool:
    """Whether the word behind `Basic` is a name and a password."""
    from base64 import b64decode

    try:
        return b":" in b64decode(found[2] + "=" * (-len(found[2]) % 4), validate=True)
    except ValueError:
        return False


def is_opaque(found: re.Match[str]) -> bool:
    """Whether the word behind `Bearer` is no word of a sentence."""
    return any(not c.isalpha() for c in found[2]) or len(found[2]) > 24


_EDGE = r"(?<![A-Za-z0-9_-])"  # a token starts here
_MARKED = r"\1{mark}"
PATTERNS: dict[str, Pattern] = {
    "pem": Pattern(("-----begin ",), r"(?s)-----BEGIN [A-Z0-9 ]{1,60}-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|\Z)"),
    "url": Pattern(
        ("://",),
        r"""(://[^\s:/?#@"'<>]{0,256}):(?:[^\s/"'<>]{1,256}@(?![^\s"'<>?#]{0,256}@)|(?!\d{1,5}(?:[/?#]|\Z))[^\s"'<>?#]{1,256}@)""",
        r"\1:***@",
    ),
    "quoted_url": Pattern(  # one in the query of another
        ("%3a%2f%2f", "%3a//"),
        r"""(?i)(%3A(?:%2F%2F|//)[\w.~+-]{0,256}+)%3A(?:[\w.~+!*'()-]|%(?!40|2F)[0-9A-F]{2}){1,256}+%40""",
        r"\1:***@",
    ),
    "jwt": Pattern(("eyj",), _EDGE + r"eyJ[\w-]{6,}+\.[\w-]{4,}+(?:\.[\w-]*+)?"),
    "bearer": Pattern(("bearer",), r"(?i)\b(bearer\s{1,3})([\w.~+/=-]{8,}+)", _MARKED, is_opaque),
    "basic": Pattern(("basic ",), r"(?i)\b(basic\s{1,3})([\w+/-]{6,}+={0,2})", _MARKED, is_basic),
    "aws": Pattern(("akia", "asia"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "github": Pattern(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+)"),
    "gitlab": Pattern(("glpat-",), _EDGE + r"glpat-[\w-]{16,}+"),
    "slack": Pattern(("xox", "xapp-", "hooks.slack.com"), _EDGE + r"(?:xox[a-z]-[\w-]{8,}+|xapp-[\w-]{8,}+)|(?<=hooks\.slack\.com/services/)[\w/]{10,}+"),
    "openai": Pattern(("sk-",), _EDGE + r"sk-[\w-]{16,}+"),  # and others that took over the form
    "stripe": Pattern(("k_live_", "k_test_", "whsec_"), _EDGE + r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}+"),
    "mainstay": Pattern(("mst_", "encryption_keys="), _EDGE + r"mst_[0-9a-f]{8,}+_[0-9a-f]{32,}+|(?<=ENCRYPTION_KEYS=)[\w:,+/=-]{40,}+"),  # tokens of the HTTP API; keys
    "google": Pattern(("aiza",), _EDGE + r"AIza[\w-]{30,}+"),
    "token": Pattern(  # of services whose tokens begin in a way of their own
        ("npm_", "pypi-", "hf_", "sg.", "_v1_", "shpat_", "shpss_", "hvs.", "age-secret-key-", "/webhooks/", "telegram.org/bot"),
        _EDGE + r"(?:npm_[A-Za-z0-9]{30,}+|pypi-[\w-]{30,}+|hf_[A-Za-z0-9]{20,}+|SG\.[\w-]{16,64}\.[\w-]{16,}+|do[opr]_v1_[0-9a-f]{32,}+|shp(?:at|ss)_[0-9a-fA-F]{24,}+"
        r"|hvs\.[\w-]{20,}+|AGE-SECRET-KEY-1[A-Z0-9]{30,}+)|(?<=/webhooks/)\d{8,20}/[\w-]{30,}+|(?<=api\.telegram\.org/bot)\d{5,12}:[\w-]{20,}+",
    ),
    "signature": Pattern(("signature=", "sig="), r"(?i)([?&](?:x-(?:amz|goog)-signature|signature|sig)=)([^\s&\"'<>#]{8,}+)", _MARKED),  # of URLs that open without more
    "card": Pattern((), r"(?<![\w.])[2-6](?:[ -]?\d){13,18}(?![\w-])", hint=r"[2-6](?:[ -]?\d){13}", check=lambda found: is_card_number(found[0])),
    "mail": Pattern(("@",), r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[\w-]{2,63}"),
    "iban": Pattern((), r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", hint=r"[A-Z][A-Z]\d\d[ A-Z0-9]", check=lambda found: is_account_number(found[0])),
}  # fmt: skip
ASKED = ("mail", "iban")  # only on request: people look for a job by the address that it is for
DEFAULT = tuple(name for name in PATTERNS if name not in ASKED)
