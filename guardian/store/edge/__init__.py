"""The embedded store: the engine in this process."""
