"""The formulas of "Memory Reward Inflation in Self-Improving LLM Agents": LUCID, the Echo Gap's attractor, intervals. Numbers in, numbers out."""
