"""Training: from a recipe to a policy file; here environments, networks and learners are put together."""
