"""Publishing: how the learner's weights reach the engines that sample, and how past versions are kept."""

from gymposium_train.publishing.make import make_publisher, policy_name
from gymposium_train.publishing.protocol import Publisher

__all__ = ["Publisher", "make_publisher", "policy_name"]
