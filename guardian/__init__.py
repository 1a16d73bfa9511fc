"""Guardian: a guard on the write path of agents' long-term memory."""
