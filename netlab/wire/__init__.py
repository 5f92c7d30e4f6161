"""Wire: typed messages as bytes, authenticated channels and sessions. Knows no policy and no environment."""
