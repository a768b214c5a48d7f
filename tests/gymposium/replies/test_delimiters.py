"""Control tokens, thoughts and wrappers of model families are removed from replies."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from gymposium.replies.delimiters import strip_turn_tokens
from gymposium.replies.reading import GENERAL, READERS, Reading, read_reply

SQUARES = re.compile(r"[a-c][1-3]")
LEGAL = ["a3", "b2", "c1"]

ENDS = [
    *("<|return|>", "<|end|>", "<|call|>", "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "</s>", "<eos>"),
    *("<|endoftext|>", "<|end_of_text|>", "[/INST]", "<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>", "<|user|>"),
    *("<|observation|>", "[e~[", "<seed:eos>", "<turn|>", "[|endofturn|]", "<|eos|>", "<|endofresponse|>", "<|eom|>"),
    *("<｜hy_eos｜>", "<|role_end|>", "<pad>", "</longcat_s>", "<SPECIAL_12>", "<extra_id_1>", "<|assistant_end|>"),
    *("<|im_end|>\n<|im_start|>user", "<|eot_id|><|start_header_id|>user<|end_header_id|>\n", "</s>[INST]"),
]
"""What ends a turn in the templates of different models."""
STARTS = [
    *("<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n", "<start_of_turn>model\n", "<s>"),
    *("<|assistant|>", "[/INST]", "<｜Assistant｜>", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<bos>", "]~b]ai\n"),
    *("<|im_assistant|>assistant<|im_middle|>", "<|start_of_role|>assistant<|end_of_role|>", "<|turn>model\n"),
    *("<|im_start|>assistant<|im_sep|>", "[gMASK]<sop>", "<role>ASSISTANT</role>", "<|start|>assistant<|message|>"),
]
"""What begins a turn in the templates of different models."""
ANSWERS = {
    "Hunyuan": ("<answer>\n", "\n</answer>"),
    "Granite": ("<response>", "</response>"),
    "Ernie": ("\n<response>\n", "\n</response>\n"),
    "Cohere": ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "GLM": ("<|begin_of_box|>", "<|end_of_box|>"),
    "GLM in an answer": ("<answer><|begin_of_box|>", "<|end_of_box|></answer>"),
    "Sky-T1": ("<|begin_of_solution|>\n", "\n<|end_of_solution|>"),
    "final": ("<final_answer>", "</final_answer>"),
    "brackets": ("[ANSWER]", "[/ANSWER]"),
    "box": (r"\boxed{", "}"),
    "math": (r"$\boxed{\text{", "}}$"),
    "display": (r"\[ \boxed{", r"} \]"),
}
"""What different models write around an answer."""
FAMILIES = {
    "Qwen3": "<think>\na3?\n</think>\n\n{}<|im_end|>",
    "Qwen3, opened by the template": "a3?\n</think>\n\n{}<|im_end|>\n<|endoftext|>",
    "Qwen3 without thinking": "<think>\n\n</think>\n\n{}<|im_end|>",
    "DeepSeek-R1": "<think>\na3?\n</think>\n{}<｜end▁of▁sentence｜>",
    "DeepSeek-V3.1": "a3?</think>{}<｜end▁of▁sentence｜>",
    "gpt-oss": (
        "<|start|>assistant<|channel|>analysis<|message|>a3?<|end|><|start|>assistant<|channel|>final<|message|>{}"
        "<|return|>"
    ),
    "gpt-oss, final alone": "<|channel|>final<|message|>{}<|return|>",
    "gpt-oss with a preamble": (
        "<|channel|>analysis<|message|>a3?<|end|><|start|>assistant<|channel|>commentary<|message|>I take it.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>{}<|return|>"
    ),
    "Llama 3": "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
    "Gemma 3": "<start_of_turn>model\n{}<end_of_turn>\n",
    "Gemma 4": "<|channel>thought\na3?<channel|>{}<turn|>",
    "Magistral": "[THINK]a3?[/THINK]{}</s>",
    "Mistral": " [/INST] {}</s>",
    "Cohere": "<|START_THINKING|>a3?<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "GLM-4.5": "\n<think>a3?</think>\n{}<|user|>",
    "GLM-4.5V": "<think>a3?</think><answer><|begin_of_box|>{}<|end_of_box|></answer>",
    "Kimi": "◁think▷a3?◁/think▷{}<|im_end|>",
    "Kimi K2": "<think>a3?</think>{}<|im_end|>[EOS]",
    "MiniMax-M2": "a3?\n</think>\n\n{}[e~[",
    "Phi-4-reasoning": "<|im_start|>assistant<|im_sep|><think>a3?</think>\n{}<|im_end|>",
    "Phi-4-mini": "{}<|end|><|endoftext|>",
    "Nemotron": "<think>\na3?\n</think>\n\n{}<SPECIAL_12>\n",
    "Granite 3.3": "<think>a3?</think><response>{}</response><|end_of_text|>",
    "Granite 3.2": "Here is my thought process: a3? Here is my response:{}<|end_of_text|>",
    "Seed-OSS": "<seed:think>a3?</seed:think>{}<seed:eos>",
    "Hunyuan": "<think>\na3?\n</think>\n<answer>\n{}\n</answer><|eos|>",
    "Ernie": "a3?\n</think>\n\n<response>\n{}\n</response>\n</s>",
    "EXAONE": "<thought>\na3?\n</thought>\n\n{}[|endofturn|]",
    "Apertus": "<|assistant_start|><|inner_prefix|>a3?<|inner_suffix|>{}<|assistant_end|>",
    "Apriel": "Here are my reasoning steps:\na3?\n[BEGIN FINAL RESPONSE]\n{}\n[END FINAL RESPONSE]\n<|end|>",
    "LongCat": "<longcat_think>a3?</longcat_think>\n{}</longcat_s>",
    "Ling": "<role>ASSISTANT</role><think>a3?</think>{}<|role_end|>",
    "K2-Think": "<think_faster>a3?</think_faster>{}<|im_end|>",
    "K2 Horizon": "<ifm|think>a3?</ifm|think>{}<|ifm|im_end|>",
    "openPangu": "[unused16]a3?[unused17]{}[unused10]",
    "openPangu, opened by the template": "a3?[unused17]{}[unused10]",
    "s1": "<|im_start|>think\na3?\n<|im_start|>answer\n{}<|im_end|>",
    "s1, opened by the template": "a3?\n<|im_start|>answer\n{}<|im_end|>",
    "HyperCLOVA X": "/think\na3?<|im_end|>\n<|im_start|>assistant\n{}<|im_end|><|endofturn|>",
    "Solar Open": "<|think|>a3?<|end|><|begin|>assistant<|content|>{}<|end|>",
    "Solar Open without thoughts": "<|content|>{}<|end|>",
    "Solar Open 2": "a3?<|think:end|>{}<|im:end|>",
    "Kimi K3": (
        "<|open|>think<|sep|>a3?<|close|>think<|sep|><|open|>response<|sep|>{}<|close|>response<|sep|>"
        "<|close|>message<|sep|>"
    ),
    "Muse": "to=self<|message|>a3?<|eom|><|start|>assistant to=user<|message|>{}<|eot|>",
    "Inkling": (
        "<|content_thinking|>a3?<|end_message|><|message_model|><|content_text|>{}<|end_message|>"
        "<|content_model_end_sampling|>"
    ),
    "Open WebUI": '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> a3?\n</details>\n{}',
    "Sky-T1": "<|begin_of_thought|>a3?<|end_of_thought|>\n\n<|begin_of_solution|>\n{}\n<|end_of_solution|>",
}
"""Whole replies of different families of models, as a server passes them on that removes nothing."""


def read_by(name: str, text: str) -> Reading:
    return read_reply(text, LEGAL, GENERAL[f"{name}-lenient"], SQUARES)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_model_reply_is_read(family: str, name: str) -> None:
    reply = FAMILIES[family].format(READERS[name].answer("b2"))
    reading = read_by(name, reply)
    assert (reading.kind, reading.move) == ("move", "b2")
    assert ("thoughts" in reading.repaired) <= any(part in reply for part in ("a3?", "think", "final", "content"))
    for other in ("", "I play b2", f"{READERS[name].answer('b2')} or {READERS[name].answer('a3')}"):
        assert read_by(name, FAMILIES[family].format(other)) == Reading("unparsable")


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("opening", ["", *STARTS])
def test_control_tokens_are_stripped_from_an_answer(opening: str, name: str) -> None:
    for ending in ENDS:
        reading = read_by(name, f"{opening}{READERS[name].answer('b2')}{ending}")
        assert reading == Reading("move", "b2", repaired=("text",))


@pytest.mark.parametrize("answer", ANSWERS)
def test_wrappers_are_stripped_from_an_answer(answer: str) -> None:
    opening, closing = ANSWERS[answer]
    for before, after in (("", ""), ("a3?</think>", "<|im_end|>"), ("", "</s>")):
        reading = read_by("move", f"{before}{opening}b2{closing}{after}")
        assert (reading.kind, reading.move) == ("move", "b2")
        for both in (f"b2{closing}{opening}a3", "b2 or a3", "I play b2"):
            assert read_by("move", f"{before}{opening}{both}{closing}{after}") == Reading("unparsable")
    assert read_by("tags", f"<move>{opening}b2{closing}</move>").move == "b2"
    assert read_by("tags", f"{opening}b2{closing}") == Reading("unparsable")  # nothing is marked


@given(st.lists(st.sampled_from([*ENDS, *STARTS, " ", "\n"])), st.lists(st.sampled_from([*ENDS, " ", "\n"])))
def test_surrounding_control_tokens_are_stripped_from_free_text(before: list[str], after: list[str]) -> None:
    text = "Human: 6 * 7 </s> is 42."
    reply = f"{''.join(before)} {text}{''.join(after)}"
    assert strip_turn_tokens(reply) == text
    assert read_reply(reply, None, GENERAL["move-lenient"], None).move in (text, reply)


@pytest.mark.parametrize("text", ["<answer>42</answer>", r"\boxed{42}", "Model 5 <s>4</s> is it", "[INST] in a text"])
def test_ambiguous_tokens_stay_in_free_text(text: str) -> None:
    kept = text.removeprefix("[INST] ")
    assert read_reply(text, None, GENERAL["move-lenient"], None).move == kept


CALL = '{"name": "put", "arguments": {"n": 1}}'


@pytest.mark.parametrize("name", ["move", "tags"])
@pytest.mark.parametrize("family", FAMILIES)
def test_call_in_a_whole_model_reply_is_read(family: str, name: str) -> None:
    for call in (CALL, f"<tool_call>\n{CALL}\n</tool_call>", f"<|python_tag|>{CALL}", f"```json\n{CALL}\n```"):
        reply = FAMILIES[family].format(READERS[name].answer(call))
        reading = read_reply(reply, None, GENERAL[f"{name}-lenient"], None, calls=True)
        assert (reading.kind, reading.move) == ("move", CALL), call
