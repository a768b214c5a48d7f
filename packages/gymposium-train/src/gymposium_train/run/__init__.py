"""A run in stages: a model and its cold start, measures, reinforcement learning, its control, anchors, a report."""

from gymposium_train.run.start import resume_run, start_run

__all__ = ["resume_run", "start_run"]
