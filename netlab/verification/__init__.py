"""Verification: flows both ways through a lab made for it, and whether they are what was asked of its link."""
