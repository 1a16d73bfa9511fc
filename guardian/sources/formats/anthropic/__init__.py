"""Anthropic's shapes: transcripts of the memory tool, and rows of managed memory stores."""
