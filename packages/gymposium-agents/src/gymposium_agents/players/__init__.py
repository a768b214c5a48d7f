"""Players that are language models, here or behind a chat service, with their evaluation and their data."""
