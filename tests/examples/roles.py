"""Worker processes of the example systems, for the zygote (`tests.crash.zygote`)."""

import importlib
import threading


def work(application, concurrency):
    """Run the jobs of an application ("module:app") until somebody kills this process."""
    module, _, name = application.partition(":")
    with getattr(importlib.import_module(module), name).worker(concurrency=concurrency):
        threading.Event().wait()
