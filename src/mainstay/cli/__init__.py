"""The command line. `quick` answers a plain enqueue before click is imported; `main` knows every command."""
