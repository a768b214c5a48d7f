"""stable-baselines3 for gymposium."""
