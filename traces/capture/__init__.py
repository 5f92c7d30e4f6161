"""Captures of packets: files of them, interfaces, and what their bytes say."""
