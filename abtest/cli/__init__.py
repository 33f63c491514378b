"""The commands: the only place that prints, reads the environment, builds adapters or decides an exit code."""
