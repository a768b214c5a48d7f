"""A Ray cluster as an executor of gymposium."""
