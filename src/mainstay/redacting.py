"""The redactor in force in this process: what the settings `redact` and `redact_patterns` say. `core.redaction` does the work."""

from __future__ import annotations

from .core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core.redaction import Redactor

_loaded: Redactor | None = None


def redactor() -> Redactor:
    """Return the redactor. After a mistake in the settings, which is reported on stderr, the usual secrets are redacted."""
    if _loaded is not None:
        return _loaded
    try:
        return load()
    except ConfigError as error:
        import sys

        from .core.redaction import Redactor

        found = _use(Redactor())
        sys.stderr.write(f"mainstay: only the usual secrets are redacted: {found.text(str(error))}\n")
        return found


def load() -> Redactor:
    """Read the settings and use them from now on; raise `ConfigError` for a mistake in them."""
    from .core.redaction import Redactor
    from .settings_file import load_settings

    settings = load_settings(only=("redact", "redact_patterns"))
    return _use(Redactor(settings.redact, settings.redact_patterns))


def kept(text: str, limit: int) -> str:
    """Return a text without its secrets, and cut to what a store keeps of it: one that is cut first may not be recognised.

    The work is bounded: of a text that is far too long, only as much is looked at around both ends as will be kept, and some more.
    """
    from .core.payload import clean

    without, reach = redactor().text, 2 * limit
    if len(text) <= 2 * reach:
        return clean(without(text), limit)
    return without(clean(without(text[:reach]) + text[reach:-reach] + without(text[-reach:]), limit))


def in_archives(unredacted: bool = False) -> Redactor | None:
    """Return what takes secrets out of an export or an archive; None if nothing does: it is asked for so, or redaction is off."""
    found = redactor()
    return found if found.on and not unredacted else None


def forget() -> None:
    """Read the settings again before the next text is redacted."""
    global _loaded  # noqa: PLW0603  (one process has one answer to what is a secret)
    _loaded = None


def _use(found: Redactor) -> Redactor:
    global _loaded  # noqa: PLW0603  (as above)
    from .core import redaction

    _loaded = found
    redaction.use(found)
    return found
