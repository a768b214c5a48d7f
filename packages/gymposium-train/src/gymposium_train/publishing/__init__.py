"""From the learner's weights to whoever plays: publishing, and versions of the past."""

from gymposium_train.publishing.make import make_publisher, policy_name
from gymposium_train.publishing.protocol import Publisher

__all__ = ["Publisher", "make_publisher", "policy_name"]
