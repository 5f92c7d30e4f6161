"""Synthetic networks: models with a seed that become schedules; one file a model."""
