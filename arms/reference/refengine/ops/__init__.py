"""Kernel files: each is self-contained, so that one can be swapped alone."""
