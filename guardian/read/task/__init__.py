"""The task classifier: what a question asks for, told from its text and its vector alone."""
