"""Summaries as text: one view of the tables, shared by every format. Nothing here writes or prints."""
