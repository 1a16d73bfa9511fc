"""Queries of episodes: read with a parser, admitted only as a single read, run where they can do no harm."""
