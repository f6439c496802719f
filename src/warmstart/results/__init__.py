"""Results: frozen dataclasses that show well in a terminal and a notebook, and go to JSON."""
