"""The server store: Qdrant over the network."""
