"""What a run has staged to publish after its tests: who reads it meanwhile, and hooks that change it."""
