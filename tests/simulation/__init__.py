"""The kernel's own code under simulated schedules: one seed, one run, the same each time."""
