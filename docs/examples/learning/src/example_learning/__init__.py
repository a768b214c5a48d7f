"""A credit, an objective and an engine for gymposium train."""
