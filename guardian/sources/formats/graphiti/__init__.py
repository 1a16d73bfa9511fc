"""Temporal graphs of Graphiti and Zep: their episodes, facts and summaries."""
