"""Tells what it was built for, as the real package does."""


class current_platform:
    device_name = "cpu"
