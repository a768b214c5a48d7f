"""A model's answers to the prompts of lessons."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gymposium.replies.reading import Reading, read_reply
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.tokens import Sampling, TokenRequest
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import choose_reader
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.config import Prompting
from gymposium_train.run.lessons.lessons import Lesson, encode_prompt, exceeds_characters


def answer_lessons(
    model: LearningModel | LoadedModel,
    prompting: Prompting,
    lessons: Sequence[Lesson],
    streams: Iterator[random.Random],
) -> list[Reading | None]:
    """Return how the model's reply to each lesson's prompt is read, or None if the prompt leaves no space for one.
    Samples at temperature 1, with the next of `streams` for each reply. If a lesson's reply is a tool call, any call
    counts as legal."""
    engine, form = model.engine(), choose_reader(prompting.reply, model.chat)
    short = [None if exceeds_characters(one, engine.context) else encode_prompt(one, model.chat) for one in lessons]
    prompts = [None if prompt is None or len(prompt) >= engine.context else prompt for prompt in short]
    requests = [TokenRequest(prompt, next(streams)) for prompt in prompts if prompt is not None]
    completions = iter(engine.generate(requests, Sampling(1.0, prompting.reply_limit)))

    def read_next(lesson: Lesson) -> Reading:
        completion = next(completions)
        return read_reply(
            model.chat.read(completion.ids),
            lesson.legal,
            form.bind(lesson.tools) if isinstance(form, ToolsReader) else form,
            None,
            cut_off=completion.finish_reason == "length",
            calls=lesson.legal is None and read_reply(lesson.reply, None, form, None, calls=True).kind == "move",
        )

    return [None if prompt is None else read_next(lesson) for lesson, prompt in zip(lessons, prompts, strict=True)]
