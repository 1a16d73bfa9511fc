"""The rules, one a file. A rule works on the world or on values; no rule imports another: `decide` orders them."""
