"""The command line: parses, calls, prints. One file a command."""
