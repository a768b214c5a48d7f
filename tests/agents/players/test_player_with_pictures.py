"""A tiny vision model plays from pictures, and a learner trains on its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agents.vision import PARTS, save_vision_model

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.pictures.pixels import can_render_pixels, draw_position, render_png
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium_agents.chat.tokens import Message, TurnTokens
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.modeling.pictures import FIRST
from gymposium_agents.modeling.sight import PictureEmbedding, Sight
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.grammar import make_language_model_player
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config.learn import Optimizer
from gymposium_train.learner.local import LocalLearner
from gymposium_train.learner.rows import Row, fill_spans, make_rows

pytestmark = pytest.mark.skipif(
    not can_render_pixels(), reason='resvg-py is not installed: pip install "gymposium[images]"'
)


@pytest.fixture(scope="module")
def vision_directory(family_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("vision")
    save_vision_model(directory, family_tokenizer("smollm2"))
    return directory


@pytest.fixture(scope="module")
def vision(vision_directory: Path) -> LoadedModel:
    return load_model(vision_directory)


RANDOM = FailurePolicy.parse("random")


def play_one(player: LanguageModelPlayer, game: str = "kuhn_poker", seed: int = 1) -> MatchResult:
    (played,) = play([MatchJob(f"m{seed}", load_game(game), [player, make_player("random")], seed, on_illegal=RANDOM)])
    return played


def list_turns(played: MatchResult) -> list[TurnTokens]:
    return [turn.trace for turn in played.turns if isinstance(turn.trace, TurnTokens)]


def test_the_architecture_reads_pictures_as_its_own_forward_pass_does(vision: LoadedModel) -> None:
    assert isinstance(vision.model.get_input_embeddings(), PictureEmbedding)  # `attach` compared both
    assert "model.text_model.embed_tokens.weight" in vision.model.state_dict()


@pytest.mark.parametrize("prompt", ["image", "both"])
@pytest.mark.parametrize("context", ["state", "full"])
def test_each_prompt_holds_the_pictures_of_its_turns(vision_directory: Path, prompt: str, context: str) -> None:
    options = f"prompt={prompt}&context={context}&reply=move&max_tokens=4&temperature=1"
    player = make_language_model_player(str(vision_directory), options=options)
    played = play_one(player, "tic_tac_toe")
    turns = list_turns(played)
    assert len(turns) > 1
    for number, turn in enumerate(turns):
        parts = [token for token in turn.prompt if token >= FIRST]
        assert len(parts) == PARTS * (number + 1 if context == "full" else 1)
        assert len({*parts}) == len(parts)
        words = player.chat.tokenizer.decode([token for token in turn.prompt if token < FIRST])
        assert ("The picture shows" in words) == (prompt == "image")
        assert ("  a b c\n" in words) == (prompt == "both")
    assert player.identity().decoding["prompt"] == prompt


def test_worlds_that_look_alike_have_equal_prompts_and_other_cards_other_prompts(vision_directory: Path) -> None:
    player = make_language_model_player(str(vision_directory), options="prompt=image&reply=move&max_tokens=2")
    prompts: dict[str, set[tuple[int, ...]]] = {}
    for seed in range(8):
        played = play_one(player, seed=seed)
        view = load_game("kuhn_poker").load(played.events[:2], seed).view(0)
        prompts.setdefault(view, set()).add(list_turns(played)[0].prompt)
    assert len(prompts) == 3
    assert all(len(some) == 1 for some in prompts.values())
    assert len(set.union(*prompts.values())) == 3


def test_the_model_sees_the_picture(vision: LoadedModel) -> None:
    engine = vision.engine()
    board = load_game("tic_tac_toe").new(0)
    empty = render_png(draw_position(board, 0))
    board.apply({0: "b2"})
    taken = render_png(draw_position(board, 0))
    message: Message = {"role": "user", "content": "a1 or b2?"}
    shown = [((0, picture),) for picture in (empty, taken, empty)]
    pairs = [(vision.chat.conversation([{**message, "pictures": pictures}]), (5, 6)) for pictures in shown]
    one, other, again = engine.score(pairs)
    assert one == again
    assert one != other
    assert engine.score(pairs[1:2])[0] == pytest.approx(other, abs=1e-5)


def test_text_of_others_writes_no_placeholder(vision: LoadedModel, vision_directory: Path) -> None:
    ids = vision.chat.conversation([{"role": "user", "content": "<image> <fake_token_around_image>"}])
    assert Sight.load(vision_directory).expand(ids, []) == tuple(ids)
    with pytest.raises(GymposiumError, match="wrote 0 placeholders for 1 picture"):
        Sight.load(vision_directory).expand(ids, [b""])


@pytest.mark.parametrize(
    "layout", ["packed", pytest.param("padded", marks=pytest.mark.slow), pytest.param("shared", marks=pytest.mark.slow)]
)
def test_a_learner_trains_on_matches_from_pictures(vision_directory: Path, layout: Any) -> None:
    """One step with a LoRA makes rewarded replies likelier. The vision parts are not trained."""
    loaded = load_model(vision_directory)
    model = attach_lora(loaded.model, rank=4, alpha=8, seed=0)
    trained = {name: weight.detach().clone() for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained
    assert all("text_model" in name for name in trained)
    engine = LoadedModel(model, loaded.chat).engine()
    player = make_language_model_player(
        str(vision_directory), options="prompt=both&reply=move&max_tokens=4&temperature=1"
    )
    player.engine = engine
    rows: list[Row] = []
    for seed in range(2):
        rows += make_rows(list_turns(play_one(player, "tic_tac_toe", seed)))
    assert all(any(token >= FIRST for token in row.ids) for row in rows)
    learner = LocalLearner(model, loaded.pad, Optimizer(layout=layout))
    scored = learner.score([(row.prompt, row.ids[len(row.prompt) :]) for row in rows])
    for row, scores in zip(rows, scored, strict=True):
        assert scores == pytest.approx(row.spans[0].engine, abs=1e-4)
    rows = fill_spans(rows, advantage=[1.0] * len(rows), weight=[1 / len(rows)] * len(rows))
    learner.update(rows, learning_rate=1e-2)
    after = learner.score([(row.prompt, row.ids[len(row.prompt) :]) for row in rows])
    assert sum(map(sum, after)) > sum(map(sum, scored))
    moved = {name for name, weight in model.named_parameters() if name in trained and (weight != trained[name]).any()}
    assert moved


def test_a_model_without_sight_is_refused(model_directory: Path) -> None:
    with pytest.raises(GymposiumError, match="does not see"):
        make_language_model_player(str(model_directory), options="prompt=image")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("prompt=image&engine=http://127.0.0.1:9/v1", "requires the model in this process"),
        ("prompt=image&history=kept&context=full", "history=kept"),
        ("prompt=picture", "image or both"),
    ],
)
def test_options_that_do_not_fit_are_refused(vision_directory: Path, options: str, says: str) -> None:
    with pytest.raises(BadOption, match=says):
        make_language_model_player(str(vision_directory), options=options)
