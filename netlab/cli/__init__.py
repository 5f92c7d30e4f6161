"""Command line: one file a command; a command parses, calls one library function, prints."""
