"""How fast training is, against loops of bare PyTorch, and TRL beside it."""
