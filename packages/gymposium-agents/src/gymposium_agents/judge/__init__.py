"""A language model as the judge of a group of trajectories.

`transcript` makes the transcript of one trajectory, `prompt` the messages to the judge, `answer` reads its scores,
`account` counts its tokens, `ruler` is the reward, and `grammar` makes the reward from its name.

The idea is RULER, relative scores by a language model, of OpenPipe's ART (https://art.openpipe.ai/fundamentals/ruler).
"""

from gymposium_agents.judge.prompt import RUBRIC
from gymposium_agents.judge.ruler import Ruler

__all__ = ["RUBRIC", "Ruler"]
