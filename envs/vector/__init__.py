"""Vector: many environments at once as numpy columns. Knows no policy, no socket and no kernel."""
