"""Reading what other programs wrote: rows of files, times, tables, and what differs between two versions."""
