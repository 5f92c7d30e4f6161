"""Agents: policies and the service that answers observations. Knows no environment and no kernel."""
