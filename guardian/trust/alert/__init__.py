"""Alerts: `judge` says what figures mean, `standing` turns what was said, look after look, into alerts raised once and resolved once."""
