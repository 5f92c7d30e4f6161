"""Scoring: how well a policy does on a network, in numpy and many episodes at once; the roof's."""
