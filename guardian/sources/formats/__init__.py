"""One module a format: what its rows mean, and nothing of how files are read."""
