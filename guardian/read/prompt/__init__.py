"""The prompt: what was admitted, as text for a model, each role apart and no memory able to leave its place."""
