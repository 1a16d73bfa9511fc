"""Outside formats in, canonical events out: one codec a format, behind the one port in `port.py`."""
