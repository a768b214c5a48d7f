"""The reward `ruler`: a language model scores the trajectories of a group relative to each other."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from gymposium.errors import BadReward, GymposiumError, UnratedGroup
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.criteria import accuracy
from gymposium.rewards.match import subtract_penalties
from gymposium.rewards.protocol import Reward
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.engines.api_errors import PromptTooLong
from gymposium_agents.engines.futures import map_future, wait_for_results
from gymposium_agents.engines.protocol import ChatCompletion, ChatEngine
from gymposium_agents.judge.account import Account
from gymposium_agents.judge.answer import CUT_OFF, read_scores
from gymposium_agents.judge.prompt import RUBRIC, make_judge_messages
from gymposium_agents.judge.transcript import make_transcript
from gymposium_agents.players.api_player import list_remarks

MAX_TOKENS = 4096
"""Default limit of an answer in tokens, including thoughts."""

ALIKE = "its trajectories are all alike"
TOO_LONG = "the group is longer than the judge can read"
NO_ANSWER = "the judge did not answer"

_SEED = 0
"""The seed of the judge's sampling. At temperature 0, nothing is drawn."""


class Ruler:
    """A reward that is a judge's score from 0 to 1, minus penalties. The judge is a model behind any chat engine. Its
    score is the reward's part `judge`. The part `accuracy` is reported without weight: the exact score of a task, or
    the match score, as in `weighted`.

    A group is one request, with temperature 0 and no retry. If the engine fails, or the answer is not exactly one score
    per trajectory, the group is unrated (`UnratedGroup`). Trajectories with equal transcripts are shown once and get
    the same score. If all are equal, the judge is not asked and the group is unrated."""

    def __init__(self, engine: ChatEngine, rubric: str = RUBRIC, *, max_tokens: int = MAX_TOKENS) -> None:
        """`rubric` describes how to compare trajectories. `max_tokens` limits the judge's answer."""
        self.engine = engine
        self.rubric = rubric
        self._sampling = Sampling(0.0, max_tokens)
        self._account = Account()
        self._counting = threading.Lock()  # answers arrive in threads of the engine

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Return the rewards of one group. Raises `UnratedGroup` if there are no scores, and `BadReward` if the
        trajectories are not of one game and seat."""
        return wait_for_results([self.submit(group)])[0]

    def submit(self, group: Sequence[Trajectory]) -> Future[list[Reward]]:
        """Start rating one group, and return a future of its rewards. Several groups may be submitted concurrently. The
        future raises `UnratedGroup`."""
        if len({(trajectory.game, trajectory.seat) for trajectory in group}) != 1:
            raise BadReward(
                "A judge compares trajectories of one game and seat, not of "
                f"{len({(one.game.name, one.seat) for one in group})}. Group them by game and seat."
            )
        transcripts = [make_transcript(trajectory) for trajectory in group]
        attempts = {str(number): attempt for number, attempt in enumerate(dict.fromkeys(transcripts), 1)}
        if len(attempts) == 1:
            future: Future[list[Reward]] = Future()
            alike = UnratedGroup(ALIKE)
            self._count(alike)
            future.set_exception(alike)
            return future
        rules = group[0].game.rules(group[0].seat, "full")

        def answered(asked: Future[ChatCompletion]) -> list[Reward]:
            try:
                scores = self._read_scores(asked, [*attempts])
            except UnratedGroup as why:
                self._count(why)
                raise
            with self._counting:
                self._account.rated += 1
            compute_score = {attempt: scores[name] for name, attempt in attempts.items()}
            return [
                subtract_penalties(
                    trajectory, compute_score[attempt], {"judge": compute_score[attempt], "accuracy": exact}
                )
                for trajectory, attempt, exact in zip(group, transcripts, accuracy(group), strict=True)
            ]

        messages = make_judge_messages(rules, attempts, self.rubric)
        return map_future(self.engine.submit(messages, self._sampling, _SEED), answered)

    @property
    def account(self) -> Account:
        """A copy of the judge's account: rated and unrated groups, tokens and cost."""
        with self._counting:
            return copy.deepcopy(self._account)

    def remarks(self) -> list[str]:
        """Return the account in sentences, and the remarks of the engine."""
        return self.account.sentences() + list_remarks(self.engine)

    def _read_scores(self, asked: Future[ChatCompletion], ids: Sequence[str]) -> dict[str, float]:
        try:
            completion = asked.result()
        except PromptTooLong as error:
            raise UnratedGroup(TOO_LONG, str(error)) from error
        except GymposiumError as error:
            raise UnratedGroup(NO_ANSWER, str(error)) from error
        with self._counting:
            self._account.add(completion)
        if completion.finish_reason == "length":
            raise UnratedGroup(CUT_OFF, f"Its limit is {self._sampling.max_tokens} tokens. Raise max_tokens=.")
        return read_scores(completion.text, ids)

    def _count(self, why: UnratedGroup) -> None:
        with self._counting:
            self._account.unrated[why.reason] += 1
