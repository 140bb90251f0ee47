"""Publishing after tests: what a run stages, who reads it meanwhile, and the end that publishes all or nothing."""
