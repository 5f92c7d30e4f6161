"""Namespaces: hosts, links and processes on a Linux kernel. Knows links and profiles, no policy."""
