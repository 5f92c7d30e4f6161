"""netlab: learned controllers on real networks, on one workstation.

Importing this package loads nothing but its version; each room is imported where it is used.
"""

__version__ = "0.1.0.dev0"
