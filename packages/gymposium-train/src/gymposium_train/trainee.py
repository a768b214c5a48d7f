"""The model that learns: its learner, its players, and its past versions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.reading import reader
from gymposium_agents.chat import Chat
from gymposium_agents.engines.adapters import lora_digest
from gymposium_agents.engines.canary import Agreement, Canary
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.loading import LoadedModel
from gymposium_agents.player import LanguageModelPlayer, over
from gymposium_agents.settings import PlayerSettings
from gymposium_agents.tokens import Policy
from gymposium_train.canary import PROMPTS, opening_prompts
from gymposium_train.config import Prompting, TrainConfig
from gymposium_train.learner import Learner
from gymposium_train.publishing import Publisher, make_publisher, policy_name


class PolicyPlayers:
    """The players of the policy (a `PlayerSource`): of its newest version, and of past ones.

    A player is of the version that was published last when it was taken, and stays so: matches end under the policy
    that began them. One thread may publish while another plays (`ahead`)."""

    def __init__(self, publisher: Publisher, chat: Chat, asking: Prompting, place: Path) -> None:
        """`place` goes into the players' names."""
        self._publisher, self._chat, self._place = publisher, chat, place
        self._sampling = PlayerSettings(
            style=asking.prompt,
            reply=asking.reply,
            max_tokens=asking.max_tokens,
            context=asking.context,
            temperature=asking.temperature,
            thinking=asking.thinking,
        )
        self._best = self._sampling.with_options({"temperature": "0"})
        self._published: tuple[TokenEngine, Policy] | None = None
        self._one_at_a_time = Lock()

    @property
    def published(self) -> tuple[TokenEngine, Policy]:
        """The engine and the policy that were published last."""
        if self._published is None:
            raise GymposiumError("Nothing was published yet, so nobody can play: call publish() first.")
        return self._published

    def publish(self, policy: Policy, check: Callable[[TokenEngine], Agreement]) -> Agreement:
        """Let an engine play the learner's weights as `policy`. Nobody is given it before it has passed `check`."""
        with self._one_at_a_time:
            engine = self._publisher.publish(policy)
        found = check(engine)
        self._published = engine, policy
        return found

    def learner(self) -> LanguageModelPlayer:
        """Plays by the weights that were published last, and samples."""
        return self._player("learner", *self.published, self._sampling)

    def greedy(self) -> LanguageModelPlayer:
        """Plays by the weights that were published last, its most likely reply always."""
        return self._player("learner", *self.published, self._best)

    def keep(self) -> Policy:
        """Keep the version that was published last, so that it can be met again, in a resumed run too. Its files stay
        with the run. To keep it again changes nothing."""
        with self._one_at_a_time:
            _, policy = self.published
            self._publisher.keep(policy)
            return policy

    def past(self, policy: Policy) -> LanguageModelPlayer:
        """A version that was kept, sampling as the learner does, until it is let go. Raises `GymposiumError` where it
        was not kept."""
        with self._one_at_a_time:
            engine = self._publisher.past(policy)
        return self._player(str(policy), engine, policy, self._sampling)

    def let_go(self, policy: Policy) -> None:
        """This version is not met any more; to be called when no rollout under way meets it. Its files stay."""
        with self._one_at_a_time:
            self._publisher.let_go(policy)

    def _player(self, name: str, engine: TokenEngine, policy: Policy, how: PlayerSettings) -> LanguageModelPlayer:
        return over(f"lm:{self._place / name}", engine, self._chat, how, policy)


class Trainee:
    """The model that learns, with its players. `make_trainee` makes one.

    `publish` comes first, as soon as the learner has its weights (behind a checkpoint's, where a run goes on), and then
    after each update."""

    def __init__(self, name: str, learner: Learner, model: Any, players: PolicyPlayers, canary: Canary) -> None:
        """`name` is the name of its policies, `model` the learner's model as it is played."""
        self.learner = learner
        self.model = model
        self.players = players
        """The players of its present and past versions."""
        self.canary = canary
        """Sees after each publish that the engine plays the policy that learns."""
        self._name = name

    @property
    def engine(self) -> TokenEngine:
        """Plays the version that was published last, for whoever names it."""
        return self.players.published[0]

    @property
    def policy(self) -> Policy:
        """The version that was published last."""
        return self.players.published[1]

    @property
    def player(self) -> LanguageModelPlayer:
        """Samples, for rollouts; of the version that was published last, whatever is published later."""
        return self.players.learner()

    @property
    def greedy(self) -> LanguageModelPlayer:
        """Plays its best, to be measured; of the version that was published last."""
        return self.players.greedy()

    def publish(self) -> dict[str, float]:
        """Let the engine play what the learner has learned, and see that it does. Metrics: `sync/canary`, the largest
        difference between their log-probabilities, in nats; `sync/correlation`, between how those moved, where they
        moved by more than rounding; `perf/seconds_publish`.

        Raises `EngineDisagrees` where the engine plays something else."""
        started = time.perf_counter()
        policy = Policy(self._name, self.learner.policy_version)
        agreement = self.players.publish(policy, lambda engine: self._checked(engine, policy))
        metrics = {"sync/canary": agreement.largest, "perf/seconds_publish": time.perf_counter() - started}
        if agreement.correlation is not None:
            metrics["sync/correlation"] = agreement.correlation
        return metrics

    def _checked(self, engine: TokenEngine, policy: Policy) -> Agreement:
        digest = partial(lora_digest, self.model) if hasattr(self.model, "peft_config") else None
        return self.canary.check(engine, policy, self.learner.score, digest)


@contextmanager
def make_trainee(
    config: TrainConfig, directory: Path, loaded: LoadedModel, learner: Learner, games: Sequence[Game]
) -> Iterator[Trainee]:
    """The trainee of the run in `directory`, for as long as the block lasts. `loaded` is the learner's model, with its
    LoRA where one is trained; versions of it go to versions/ in the directory. With `engine.kind = "vllm"` this starts
    the run's server, and ends it.

    Raises `GymposiumError` where a server does not come up or serves another model, and where no prompt of a game fits
    the context."""
    asking, chat = config.asking, loaded.chat
    if chat.thinking != asking.thinking:
        chat = Chat(chat.tokenizer, thinking=asking.thinking)
    with ExitStack() as resources:
        name = policy_name(config, directory)
        publisher = make_publisher(config, name, directory / "versions", loaded, resources)
        how = {"context": publisher.context, "seed": config.seed, "number": max(2, PROMPTS // len(games))}
        prompts = [
            prompt
            for game in games
            for prompt in opening_prompts(game, asking.prompt, reader(asking.reply), chat, **how)
        ]
        canary = Canary(prompts, tolerance=learner.tolerance)
        yield Trainee(name, learner, loaded.model, PolicyPlayers(publisher, chat, asking, directory), canary)
