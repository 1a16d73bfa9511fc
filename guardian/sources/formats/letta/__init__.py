"""Letta's shapes: MemFS repositories, hook logs, agent files, and rows of the first server's tables."""
