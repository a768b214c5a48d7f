"""A language model as the judge of a group of trajectories.

`transcript` makes the transcript of one trajectory, and `prompt` makes the messages to the judge. `answer` reads the
judge's scores, and `account` counts its tokens. `ruler` is the reward, and `grammar` makes it from its name.

This is RULER, relative scoring by a language model, from OpenPipe's ART (https://art.openpipe.ai/fundamentals/ruler).
"""

from gymposium_agents.judge.prompt import RUBRIC
from gymposium_agents.judge.ruler import Ruler

__all__ = ["RUBRIC", "Ruler"]
