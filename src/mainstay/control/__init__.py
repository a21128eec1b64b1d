"""Flow control as operators see it: what is paused, set, limited and why a job waits. `mainstay.flow` has the verbs."""
