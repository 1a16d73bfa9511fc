"""Numbers of the guarded write path, each beside the raw limit it is compared with: `python -m benchmarks`."""
