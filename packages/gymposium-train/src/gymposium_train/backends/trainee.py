"""The trainee: the learner's model with its learner, players and past versions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.players.teaching import AskTeacher
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.canary import Agreement, Canary
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.players.player import LanguageModelPlayer, choose_reader, make_engine_player
from gymposium_train.backends.canary import PROMPTS, TEXTS, sample_prompts
from gymposium_train.backends.engines import make_policy_name
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.backends.publishing import Publisher
from gymposium_train.config import Prompting, TrainConfig
from gymposium_train.learner import Learner


class PolicyPlayers:
    """Players of the policy's newest published version and of its past versions (a `PlayerSource`).

    A player keeps the version that was newest when the player was made, so matches end under the policy they began
    with. One thread may publish while another plays (`gymposium_train.rollout.in_flight`)."""

    def __init__(
        self,
        publisher: Publisher,
        chat: Chat,
        prompting: Prompting,
        place: Path,
        *,
        evaluation_temperature: float = 0.0,
        staleness: int = 0,
        note_legal: bool = False,
        teacher: AskTeacher | None = None,
    ) -> None:
        """`place` is the directory that the players' names contain. The publisher keeps the versions that are at most
        `staleness` publishes old. With `note_legal`, the traces of the learner's turns list the tokens that would have
        continued a legal reply. With a `teacher`, they also have its probabilities."""
        self._publisher, self._chat, self._prompting, self._place = publisher, chat, prompting, place
        self._note_legal, self._teacher, self._evaluation_temperature = note_legal, teacher, evaluation_temperature
        self._recent: deque[tuple[TokenEngine, Policy]] = deque(maxlen=staleness + 1)
        """The recently published policies, as (engine, policy) pairs."""
        self._one_at_a_time = Lock()

    @property
    def published(self) -> tuple[TokenEngine, Policy]:
        """The newest published policy, as an (engine, policy) pair."""
        if not self._recent:
            raise GymposiumError("No player yet, because nothing was published. Call publish() first.")
        return self._recent[-1]

    def publish(self, policy: Policy, check: Callable[[TokenEngine], Agreement]) -> Agreement:
        """Publish the learner's weights as `policy`. No player uses it until its engine passes `check`."""
        with self._one_at_a_time:
            engine = self._publisher.publish(policy)
        agreement = check(engine)
        if not self._recent or policy != self._recent[-1][1]:
            self._recent.append((engine, policy))
        return agreement

    def learner(self) -> LanguageModelPlayer:
        """Return a player of the newest published version. It samples its replies."""
        return self._make_player("learner", *self.published, self._prompting.temperature, is_learning=True)

    def recent(self, policy: Policy) -> LanguageModelPlayer:
        """Return a player of a version at most `staleness` publishes old. It samples its replies. Raises
        `GymposiumError` for other versions."""
        engine = next((engine for engine, other in [*self._recent] if other == policy), None)
        if engine is None:
            raise GymposiumError(
                f"{policy} is no longer available: newer versions have replaced it. Use the newest version."
            )
        return self._make_player("learner", engine, policy, self._prompting.temperature, is_learning=True)

    def evaluated(self) -> LanguageModelPlayer:
        """Return a player of the newest published version for evaluation."""
        return self._make_player("learner", *self.published, self._evaluation_temperature)

    def keep(self) -> Policy:
        """Keep the newest published version, so that `past` can make its players, even in a resumed run. Its files stay
        in the run directory. Idempotent."""
        with self._one_at_a_time:
            _, policy = self.published
            self._publisher.keep(policy)
            return policy

    def past(self, policy: Policy) -> LanguageModelPlayer:
        """Return a player of a kept version. It samples its replies like the learner. Raises `GymposiumError` if the
        version was not kept."""
        with self._one_at_a_time:
            engine = self._publisher.past(policy)
        return self._make_player(str(policy), engine, policy, self._prompting.temperature)

    def let_go(self, policy: Policy) -> None:
        """Release a kept version. Call it only if no running rollout uses the version. Its files stay."""
        with self._one_at_a_time:
            self._publisher.let_go(policy)

    def _make_player(
        self, name: str, engine: TokenEngine, policy: Policy, temperature: float, *, is_learning: bool = False
    ) -> LanguageModelPlayer:
        return make_engine_player(
            f"lm:{self._place / name}",
            engine,
            self._chat,
            self._prompting.player_settings(temperature),
            policy,
            note_legal=is_learning and self._note_legal,
            teacher=self._teacher if is_learning else None,
        )


class Trainee:
    """The learner's model together with its players. Make it with `make_trainee`.

    Call `publish` as soon as the learner has its weights (in a resumed run, those of the checkpoint), and after each
    update."""

    def __init__(
        self,
        name: str,
        learner: Learner,
        players: PolicyPlayers,
        canary: Canary,
        digest: Callable[[], str] | None = None,
    ) -> None:
        """`name` is the name of the model's policies. `digest` is as in `LearningModel.digest`."""
        self.learner = learner
        self.digest = digest
        self.players = players
        """The players of the model's newest and past versions."""
        self.canary = canary
        """The check after each publish that the engine plays the learner's policy."""
        self._name = name

    @property
    def engine(self) -> TokenEngine:
        """The engine that plays the newest published version."""
        return self.players.published[0]

    @property
    def policy(self) -> Policy:
        """The newest published version."""
        return self.players.published[1]

    @property
    def player(self) -> LanguageModelPlayer:
        """A player of the newest published version for rollouts. It samples its replies."""
        return self.players.learner()

    @property
    def evaluated(self) -> LanguageModelPlayer:
        """A player of the newest published version for evaluation."""
        return self.players.evaluated()

    def publish(self) -> dict[str, float]:
        """Publish the learner's weights to the engine, check that the engine plays them, and return metrics:

        - `sync/canary`: the largest difference between the two sets of log-probabilities, in nats
        - `sync/canary_mean`: their mean difference
        - `sync/correlation`: the correlation between their changes since the last publish, if larger than rounding
        - `perf/seconds_publish`

        Raises `EngineMismatch` if the engine plays another policy."""
        started = time.perf_counter()
        policy = Policy(self._name, self.learner.policy_version)
        agreement = self.players.publish(policy, lambda engine: self._check_agreement(engine, policy))
        metrics = {
            "sync/canary": agreement.largest,
            "sync/canary_mean": agreement.mean,
            "perf/seconds_publish": time.perf_counter() - started,
        }
        if agreement.correlation is not None:
            metrics["sync/correlation"] = agreement.correlation
        return metrics

    def _check_agreement(self, engine: TokenEngine, policy: Policy) -> Agreement:
        return self.canary.check(engine, policy, self.learner.score, self.digest)


@contextmanager
def make_trainee(
    config: TrainConfig,
    directory: Path,
    model: LearningModel,
    games: Sequence[Game],
    teacher: AskTeacher | None = None,
) -> Iterator[Trainee]:
    """Yield the trainee of the run in `directory`. Its versions are saved in `versions/` in the directory. With
    `engine.kind = "vllm"`, the run's server starts, and stops at the end of the block. The `teacher` labels the
    learner's decisions in rollouts.

    Raises `GymposiumError` if a server does not start or serves another model. Also raises it if no prompt of a game
    fits the context, or if the chat template lacks the required tools."""
    prompting, chat, learner = config.prompting, model.chat, model.learner
    sight = chat.sight if config.can_show_pictures else None
    if (chat.thinking, chat.history, chat.sight) != (prompting.thinking, prompting.history, sight):
        chat = Chat(chat.tokenizer, thinking=prompting.thinking, history=prompting.history, sight=sight)
    with ExitStack() as resources:
        name = make_policy_name(config, directory)
        publisher = model.publisher(name, directory / "versions", resources)
        how: dict[str, Any] = {
            "context": publisher.context,
            "seed": config.seed,
            "pictures": prompting.pictures,
            "number": max(2, PROMPTS // max(1, len(games))),
        }
        form = choose_reader(prompting.reply, chat)
        prompts = [prompt for game in games for prompt in sample_prompts(game, prompting.style, form, chat, **how)]
        prompts = prompts or [chat.prompt(text) for text in TEXTS]
        canary = Canary(prompts, tolerance=learner.tolerance)
        note_legal = config.entropy.weight > 0 or config.legality_weight > 0
        staleness = config.engine.staleness
        players = PolicyPlayers(
            publisher,
            chat,
            prompting,
            directory,
            evaluation_temperature=config.evaluated_player.temperature,
            staleness=staleness,
            note_legal=note_legal,
            teacher=teacher,
        )
        yield Trainee(name, learner, players, canary, model.digest)
