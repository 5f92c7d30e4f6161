"""Verification: whether a link delivers what was asked of it, measured in a lab and judged."""
