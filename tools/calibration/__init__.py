"""The statistics of the tool, tried on worlds whose truth is known."""
