"""The data plane: what is fetched, in which batches, under which fence, and when its offsets are committed."""
