"""The pure core: no I/O, no threads, no third-party imports except behind one module each."""
