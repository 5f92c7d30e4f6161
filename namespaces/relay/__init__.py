"""Relay: two TAPs a link and one process that runs the link model between them, in real time."""
