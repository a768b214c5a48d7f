"""The stages of a run: model and cold start, evaluations, reinforcement learning, control, anchors, report."""
