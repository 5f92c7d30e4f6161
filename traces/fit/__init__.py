"""Fit: from a trace to what a link can be asked to be."""
