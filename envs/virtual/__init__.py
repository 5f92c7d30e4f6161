"""Virtual: any task behind a network that takes no time, as a Gymnasium environment."""
