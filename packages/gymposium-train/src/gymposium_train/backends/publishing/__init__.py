"""Publishing: transfer of the learner's weights to the sampling engines, and storage of past versions."""

from gymposium_train.backends.publishing.make import make_publisher
from gymposium_train.backends.publishing.protocol import Publisher

__all__ = ["Publisher", "make_publisher"]
