"""Envs: tasks, the real-time loop and the service that runs it. Knows no policy and no kernel."""
