"""Reading: what a store says about a memory, and which memories answer a query."""
