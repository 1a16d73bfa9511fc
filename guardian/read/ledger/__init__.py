"""The ledger: one line a read, and the figures that are computed from such lines."""
