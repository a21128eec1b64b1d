"""The command line. `fast_enqueue` handles a plain enqueue without importing click; `main` has all commands."""
