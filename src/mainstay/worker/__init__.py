"""The worker: claims jobs, runs their handlers and stores their outcomes. `worker.py` has the class `Worker`."""
