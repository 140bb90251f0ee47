"""What a model's config says about writing, read and checked before anything runs."""
