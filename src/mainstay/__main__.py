"""`python -m mainstay` and the `mainstay` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run one command and exit with its code."""
    import os

    from .cli.fast_enqueue import quick

    code = quick(sys.argv[1:], os.environ)
    if code is None:
        from .cli.main import main as full

        code = full(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
