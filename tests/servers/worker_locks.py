"""The locks of workers in a test process: each is an open file until the process ends, or until this releases it."""

import os
from contextlib import contextmanager

from mainstay.stores import worker_locks


@contextmanager
def released():
    """Release, at the end, the locks of workers that were taken inside."""
    before = set(worker_locks._held)
    try:
        yield
    finally:
        for file in worker_locks._held.keys() - before:
            os.close(worker_locks._held.pop(file))
