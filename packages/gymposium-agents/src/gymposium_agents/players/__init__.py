"""Language models as players, local or behind a chat service, with their evaluation and training data."""
