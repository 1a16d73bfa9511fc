"""What a record may do for one question: pure rules over what a search found, no I/O, no clock."""
