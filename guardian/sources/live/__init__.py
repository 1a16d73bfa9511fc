"""What arrives on topics: envelopes are opened, rows translated, each record becoming events, skips and refusals."""
