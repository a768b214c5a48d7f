"""Check a config against what is installed and available: games, players, rewards, loggers, files, models and
engines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.pictures.pixels import render_png
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player, reject_person
from gymposium.players.protocol import check_plays, check_size
from gymposium.players.teaching import check_teaches, lists_moves
from gymposium.records import Keep
from gymposium.rewards.grammar import make_reward
from gymposium.runs.loggers.make import check_installed, check_loggers
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.context import check_pictures, parse_context
from gymposium_agents.chat.settings import TOOLS, find_reply_form, parse_options
from gymposium_agents.chat.tokens import Message
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_agents.lora.files import check_target_names
from gymposium_train.config.root import AUTO_TEACHER, TrainConfig
from gymposium_train.config.stages import PAST, SELF, check_stages
from gymposium_train.util.processes import count_local_processes, count_processes

if TYPE_CHECKING:
    from gymposium_agents.chat.chat import Chat

_PROBE: tuple[Message, ...] = (
    {"role": "user", "content": "Your move: é 🂡\n(1, 2)"},
    {"role": "assistant", "content": "a1"},
    {"role": "user", "content": "Your move:"},
)
"""A conversation to compare chats with."""


def find_unknown(config: TrainConfig) -> Iterator[str]:
    """Yield a sentence for each unknown name, and for settings that the games do not allow."""
    games: list[Game] = []
    for name in config.games:
        yield from _report_error("games", _load_games, games, name)
    for name, times in Counter(game.name for game in games).items():
        if times > 1:
            yield f"games: duplicate game {name} ({times} times). Name it once."
    for game in games:
        if config.teaches_moves and config.credit.kind == "off" and config.steps != 0 and not lists_moves(game):
            yield (
                f"credit.kind = off: {game.name} has no list of legal moves to label, so {config.teacher} teaches only "
                f"in the cold start. Set another credit, or steps=0 for distillation alone."
            )
        if config.entropy.weight > 0 and game.spec.free_text:
            yield (
                f"entropy.weight = {config.entropy.weight}: the bonus covers a turn's legal replies, but {game.name} "
                f"takes free text and has no list of them. Omit the weight. kl.weight or a higher "
                f"prompting.temperature also keep the policy exploring."
            )
        taught = config.cold_start.data or config.teaches_moves
        if config.cold_start.steps and not taught and not game.spec.plays_at_random:
            yield (
                f"cold_start.steps = {config.cold_start.steps}: by default, a cold start imitates random play, which "
                f"is not possible in {game.name} because it takes free text. Name chat files from gymposium synth in "
                f"cold_start.data, or a model that can already answer with --model."
            )
        yield from _report_error("prompting.prompt", check_pictures, config.prompting.pictures, game)
    yield from _report_error("prompting.reply", _check_reply, config.prompting.reply, games)
    yield from _report_error("prompting.context", parse_context, config.prompting.context)
    yield from _report_error("reward", make_reward, config.reward)
    yield from _report_error("loggers", _check_loggers, config.loggers)
    targets = config.model.lora.targets
    if config.model.name is None and targets is not None:
        yield from _report_error("model.lora.targets", check_target_names, targets, config.model.small.linear_layers())
    yield from _report_error("cold_start.records.keep", Keep.parse, config.cold_start.records.keep)
    for file in config.cold_start.data:
        if not Path(file).is_file():
            yield f"cold_start.data: file {file} not found. Create it with gymposium synth or gymposium run."
    shared = [game for game in games if game.seats > 1]
    for where, name in _list_opponents(config) if shared else ():
        if not _is_model(name):
            yield from _report_error(where, _check_opponent, name, shared)
    if config.teaches_moves and config.teacher != AUTO_TEACHER and not _is_model(config.teacher):
        yield from _report_error("teacher", _check_teacher, config.teacher, games)
    if config.teaches_tokens:
        yield from _report_error("teacher", _check_scoring, config)
    if len(games) == len(config.games):
        yield from _report_error("stages", check_stages, config.stages, games)


def _load_games(games: list[Game], name: str) -> None:
    games.append(load_game(name))


def _check_opponent(name: str, games: Iterable[Game]) -> None:
    """Raise `GymposiumError` for an unknown player, a person, and a player that does not play one of the games."""
    player = make_player(name)
    reject_person("opponent", [name])
    for game in games:
        check_plays(player, game)
        check_size(player, game)


def _check_teacher(name: str, games: Iterable[Game]) -> None:
    """Raise `GymposiumError` for an unknown player, a person, and a player that cannot teach one of the games."""
    player = make_player(name)
    reject_person("teacher", [name])
    for game in games:
        if lists_moves(game):
            check_teaches(player, game)
        else:
            check_plays(player, game)


def _check_scoring(config: TrainConfig) -> None:
    """Raise `BadOption` if a server would have to score the learner's tokens at a temperature other than 1."""
    name, temperature = config.teacher, config.prompting.temperature
    engine = parse_options(name.partition("?")[2]).get("engine", "")
    if temperature != 1.0 and (engine == "vllm" or "://" in engine):
        raise BadOption(
            f"{name}: a vLLM server scores tokens only at temperature 1, but prompting.temperature = {temperature:g}. "
            f"Set prompting.temperature=1, or omit engine= from the teacher's name."
        )


def _check_reply(reply: str, games: Iterable[Game]) -> None:
    """Raise `GymposiumError` for an unknown form of replies, and for tool calls in a game without tools."""
    if isinstance(find_reply_form(reply), ToolsReader) and reply != TOOLS:
        raise BadOption(
            f"{reply} is the dialect of some models. Use {TOOLS} for the dialect of the model's chat template."
        )
    if without := [game.name for game in games if not game.spec.tools and reply == TOOLS]:
        raise BadOption(f"{TOOLS}: {without[0]} has no tools to call. Use move, tags or json.")


def _check_loggers(options: Mapping[str, Mapping[str, Any]]) -> None:
    check_loggers(options)
    check_installed(options)


def find_missing(config: TrainConfig) -> Iterator[str]:
    """Yield a sentence for each missing opponent model, and for each package missing to load it. May use the hub, and
    loads the models."""
    for where, name in _list_opponents(config):
        if _is_model(name):
            yield from _report_error(where, make_player, name)
    if _is_model(config.teacher):
        yield from _report_error("teacher", _check_model_teacher, config)


def find_missing_locally(config: TrainConfig) -> Iterator[str]:
    """Yield a sentence if the learner's model is missing both on this machine and on the hub. Also yields one for each
    package or server that is missing to load or serve it. May use the hub."""
    if config.model.load == "4bit":
        import torch

        from gymposium_agents.modeling.quantized import make_4bit_config

        yield from _report_error("model.load", partial(make_4bit_config, torch.float32))
    if config.model.name is not None:
        yield from _check_learner(config, config.model.name)
    yield from _report_error("engine.kind = vllm", check_servable, config)


def _check_learner(config: TrainConfig, name: str) -> Iterator[str]:
    """Yield problems of the learner's model: it is missing, lacks the layers for the LoRA, does not see, or has a chat
    template without the required tools."""
    from gymposium_agents.lora.attach import check_targets
    from gymposium_agents.modeling.sight import is_vision_model
    from gymposium_agents.models.loading import load_skeleton  # imports torch

    model = config.model
    try:
        layers = load_skeleton(name, model.trust)
    except GymposiumError as error:
        yield f"model.name: {error}"
        return
    if model.lora.targets is not None:
        yield from _report_error("model.lora.targets", check_targets, layers, model.lora.targets)
    if config.prompting.reply == TOOLS:
        yield from _report_error("prompting.reply", _check_template, config)
    sees = is_vision_model(layers.config)
    for setting, tune, is_used in (
        ("model.tune", model.tune, config.steps != 0),
        ("cold_start.tune", config.cold_start.tune, config.cold_start.is_used or config.control),
    ):
        if sees and tune == "full" and is_used:
            yield f"{setting} = full: the vision parts of {name} are not trained. Set {setting}=lora."
    if config.prompting.pictures != "none":
        yield from _report_error("prompting.prompt", _check_sight, config)


def _check_model_teacher(config: TrainConfig) -> None:
    """Raise `GymposiumError` if the teacher, a language model, is missing. Also raise it if it teaches tokens, and the
    learner has other tokens or writes a conversation differently."""
    from gymposium_agents.players.player import LanguageModelPlayer  # imports torch

    player, name = make_player(config.teacher), config.teacher
    if not config.teaches_tokens:
        return
    assert isinstance(player, LanguageModelPlayer)
    teacher, learner = player.chat, _load_learners_chat(config)
    known, needed = teacher.tokenizer.get_vocab(), learner.tokenizer.get_vocab()
    other = next((token for token, number in needed.items() if known.get(token) != number), None)
    if other is not None:
        raise BadOption(
            f"{name} scores the learner's tokens, but its tokenizer is another one. For example, the "
            f"learner's token {other!r} has the number {needed[other]}, and the teacher's {known.get(other)}. Choose a "
            f"teacher with the learner's tokenizer."
        )
    if [teacher.conversation(_PROBE), teacher.reply("b2")] != [learner.conversation(_PROBE), learner.reply("b2")]:
        raise BadOption(
            f"{name} has a chat template that differs from the learner's, so it would read prompts that it was "
            f"never trained on. Choose a teacher with the learner's chat template."
        )


def _check_sight(config: TrainConfig) -> None:
    """Raise `GymposiumError` if the learner or its chat template does not read pictures, or other processes would."""
    if count_processes() > 1:
        raise BadOption(
            f"{config.prompting.prompt}: pixels stay in this process, but torchrun started {count_processes()} "
            f"processes. Start one process, or set prompting.prompt=full."
        )
    chat = _load_learners_chat(config)
    if chat.sight is None:
        raise BadOption(
            f"{config.prompting.prompt}: the model {config.model.name} does not see. Set model.name to a vision model, "
            f"or prompting.prompt=full."
        )
    picture = Picture.from_parts(draw_note("?"), told="a test picture")
    chat.conversation([{"role": "user", "content": "?", "pictures": ((0, render_png(picture)),)}])


def _check_template(config: TrainConfig) -> None:
    """Raise `GymposiumError` if the tool-call format of the learner's chat template is unknown."""
    from gymposium_agents.players.player import choose_reader  # imports torch

    choose_reader(config.prompting.reply, _load_learners_chat(config))


def _load_learners_chat(config: TrainConfig) -> Chat:
    from gymposium_agents.models.loading import load_chat  # imports torch

    prompting, name = config.prompting, config.model.name
    assert name is not None, "only a named model has a tokenizer before the run"
    return load_chat(name, thinking=prompting.thinking, history=prompting.history, trust=config.model.trust, sees=True)


def check_servable(config: TrainConfig) -> None:
    """Raise `GymposiumError` if the run needs its own vLLM server and cannot start it."""
    engine = config.engine.own
    samples = config.steps != 0 or config.games  # games are played in evaluations
    if not isinstance(engine, VllmSettings) or engine.url is not None or not samples:
        return
    from gymposium_agents.engines.vllm.fits import (
        check_adapters_on_cpu,
        check_heads,
        explain_unsupported_heads,
    )
    from gymposium_agents.engines.vllm.home import find_engine_home

    if find_engine_home().require()["build"] != "cpu":
        _check_gpus(engine)
        return
    model = config.model
    if model.name is not None:
        check_heads(model.name)
        if model.tune == "lora":
            check_adapters_on_cpu(model.name)
    elif unknown := explain_unsupported_heads(model.small.hidden // model.small.attention_heads):
        raise GymposiumError(
            f"vLLM could not serve the small model: {unknown}. Set model.small.hidden and model.small.heads, for "
            f"example to 64 and 2, or set engine.kind=own."
        )


def _check_gpus(engine: VllmSettings) -> None:
    """Raise `GymposiumError` if learner and server would share a GPU without dividing its memory."""
    import torch

    from gymposium_train.config.devices import find_device_problem, visible_gpus

    visible = visible_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"), torch.cuda.device_count())
    if problem := find_device_problem(engine, visible, count_local_processes()):
        raise GymposiumError(problem)


def _list_opponents(config: TrainConfig) -> Iterator[tuple[str, str]]:
    """Yield each opponent's name with the setting that names it, as (setting, name)."""
    names = dict.fromkeys(name for stage in config.stages for name in stage.opponents)
    yield from (("stages", name) for name in names if name not in (SELF, PAST))
    yield from (("evaluation.opponents", name) for name in config.evaluation.opponents)


def _is_model(player: str) -> bool:
    return player.startswith(("lm:", "api:"))


def _report_error(where: str, look: Callable[..., object], *arguments: object) -> Iterator[str]:
    """If `look` raises an error, yield it as a sentence that begins with the setting's name."""
    try:
        look(*arguments)
    except GymposiumError as error:
        text = str(error)
        yield text if text.startswith(where) else f"{where}: {text}"
