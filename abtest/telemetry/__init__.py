"""What the machine does while a trial runs: readers of cards and host, and the sampler that asks them.

Each reader is a pure parser with a thin call around it, so that recorded readings of any platform test it.
"""
