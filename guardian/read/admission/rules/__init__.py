"""The rules of a read, one a file; `guardian.read.admission.admit` orders them."""
