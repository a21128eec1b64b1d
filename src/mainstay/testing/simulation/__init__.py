"""The simulator: the real worker, chores and store under a virtual clock, with faults drawn from a seed."""
