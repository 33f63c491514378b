"""Controlled A/B experiments for inference kernels."""

__version__ = "0.1.0"
