"""Trust: what audited episodes say of a bank, its grades, its channels, and where it is drifting."""
