"""Vowpal Wabbit: its text and JSON logs in, its formats out, its predictions back in."""
