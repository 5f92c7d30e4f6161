"""Traces: what a link is asked to be: profiles, schedules, measured series. Pure; knows no kernel."""
