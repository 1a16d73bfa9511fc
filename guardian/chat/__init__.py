"""Chat models: asked off the hot path, for cards, for second grades and for the optional stages of a read."""
