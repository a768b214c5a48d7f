"""The reward `ruler`: a language model scores the trajectories of a group relative to each other."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from gymposium.errors import BadReward, GymposiumError, Unrated
from gymposium.rewards.match import less_penalties
from gymposium.rewards.protocol import Reward
from gymposium.trajectories import Trajectory
from gymposium_agents.engines.api_errors import PromptTooLong
from gymposium_agents.engines.protocol import ChatCompletion, ChatEngine
from gymposium_agents.futures import results, then
from gymposium_agents.judge.account import Account
from gymposium_agents.judge.answer import CUT_OFF, read_scores
from gymposium_agents.judge.prompt import RUBRIC, judge_messages
from gymposium_agents.judge.transcript import transcript
from gymposium_agents.tokens import Sampling

MAX_TOKENS = 4096
"""Room for an answer, thoughts included, where nothing else is asked for."""

ALIKE = "its trajectories are all alike"
TOO_LONG = "the group is longer than the judge can read"
NO_ANSWER = "the judge did not answer"

_SEED = 0
"""Of the judge's sampling, which at temperature 0 has nothing to draw."""


class Ruler:
    """Scores from 0 to 1 by a judge over any chat engine, less penalties. The part `judge` is the score.

    A group is one request, with temperature 0 and no second try: what the engine could not get, and an answer that is
    not exactly one score for each trajectory, is `Unrated`. Trajectories that are alike to the letter are shown once
    and score the same; where all are, there is nothing to compare."""

    def __init__(self, engine: ChatEngine, rubric: str = RUBRIC, *, max_tokens: int = MAX_TOKENS) -> None:
        """`rubric` says how trajectories are to be compared; `max_tokens` bounds the judge's answer."""
        self.engine = engine
        self.rubric = rubric
        self._sampling = Sampling(0.0, max_tokens)
        self._account = Account()
        self._counting = threading.Lock()  # answers come in threads of the engine

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """The rewards of one group. Raises `Unrated` where the judge gives none, `BadReward` for what is no group."""
        return results([self.submit(group)])[0]

    def submit(self, group: Sequence[Trajectory]) -> Future[list[Reward]]:
        """Begin the rewards of one group; any number of them may be under way. The future raises `Unrated`."""
        if len({(trajectory.game, trajectory.seat) for trajectory in group}) != 1:
            raise BadReward("A judge compares trajectories of one game and seat: give it groups of such.")
        shown = [transcript(trajectory) for trajectory in group]
        ids = {one: str(number) for number, one in enumerate(dict.fromkeys(shown), 1)}
        if len(ids) == 1:
            future: Future[list[Reward]] = Future()
            why = Unrated(ALIKE)
            self._count(why)
            future.set_exception(why)
            return future
        rules = group[0].game.rules(group[0].seat, "full")
        messages = judge_messages(rules, {name: one for one, name in ids.items()}, self.rubric)

        def answered(asked: Future[ChatCompletion]) -> list[Reward]:
            try:
                scores = self._scores(asked, [*ids.values()])
            except Unrated as why:
                self._count(why)
                raise
            with self._counting:
                self._account.rated += 1
            found = [(trajectory, scores[ids[one]]) for trajectory, one in zip(group, shown, strict=True)]
            return [less_penalties(trajectory, score, {"judge": score}) for trajectory, score in found]

        return then(self.engine.submit(messages, self._sampling, _SEED), answered)

    @property
    def account(self) -> Account:
        """What the judge took so far, and what became of it."""
        with self._counting:
            return copy.deepcopy(self._account)

    def remarks(self) -> list[str]:
        """The same in sentences, and what the engine has to say."""
        remarks = getattr(self.engine, "remarks", None)
        return [*self.account.sentences(), *(() if remarks is None else remarks())]

    def _scores(self, asked: Future[ChatCompletion], ids: Sequence[str]) -> dict[str, float]:
        try:
            completion = asked.result()
        except PromptTooLong as error:
            raise Unrated(TOO_LONG, str(error)) from error
        except GymposiumError as error:
            raise Unrated(NO_ANSWER, str(error)) from error
        with self._counting:
            self._account.add(completion)
        if completion.finish_reason == "length":
            raise Unrated(CUT_OFF, f"It may have {self._sampling.max_tokens} tokens; max_tokens= gives it more.")
        return read_scores(completion.text, ids)

    def _count(self, why: Unrated) -> None:
        with self._counting:
            self._account.unrated[why.reason] += 1
