"""Holder: the process that keeps a lab which stays, how it is found and what it is asked."""
