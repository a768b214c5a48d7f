"""A language model as the judge of a group: `transcript` is what one seat was told and did, `prompt` what the judge
reads of several, `answer` the scores that it gives, `account` what it took, `ruler` the reward that all of this makes,
`grammar` the reward from its name.

The idea is RULER, relative scores by a language model, of OpenPipe's ART (https://art.openpipe.ai/fundamentals/ruler).
"""

from gymposium_agents.judge.prompt import RUBRIC
from gymposium_agents.judge.ruler import Ruler

__all__ = ["RUBRIC", "Ruler"]
