"""A run in stages: a model and its cold start, measures, reinforcement learning, its control, anchors, a report."""
