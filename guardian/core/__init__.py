"""The functional core: what events mean. No I/O, no clock, no randomness, no environment, no logging."""
