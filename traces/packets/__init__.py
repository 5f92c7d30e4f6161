"""Packet logs: what happened to each packet, how it is found out from frames, and how two logs differ."""
