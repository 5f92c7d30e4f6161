"""Modes: one policy played in four places: in this process, on the model, in a lab, on two real hosts."""
