"""`python -m mainstay` and the `mainstay` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run one command and exit with its code.

    No garbage is collected while modules are imported, nor at the end among what they left: there is hardly any, and to look for
    it takes 15 ms, and 30 ms at the end, of a look at PostgreSQL. A command runs with collections.
    """
    import gc
    import os

    gc.disable()
    from .cli.fast_enqueue import quick

    code = quick(sys.argv[1:], os.environ)
    if code is None:
        from .cli.main import main as full

        code = full(sys.argv[1:])
    sys.stdout.flush()
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
