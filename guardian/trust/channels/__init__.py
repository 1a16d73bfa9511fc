"""One evidence channel a file."""
