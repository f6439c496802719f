"""What was measured on worlds whose truth is known; each file is a command that prints a table of the docs."""
