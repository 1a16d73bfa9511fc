"""Vectors of texts: the embedding port, one file an embedder, and BM25."""
