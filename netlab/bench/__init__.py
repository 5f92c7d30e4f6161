"""Bench: netlab's figures, each a ratio or a count within one run. One file a measurement.

Roof: uses every room. ``catalogue`` lists the figures; a figure's file measures it and nothing else.
"""
