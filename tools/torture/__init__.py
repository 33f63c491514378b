"""Seeded runs with one fault each, at a random instant; what is left is held against what the design promises."""
