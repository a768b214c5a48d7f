"""Patterns for delimiters of thoughts, turns and answers, as language models and their chat templates write them."""

from __future__ import annotations

import re

_WORDS = (
    "(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|scratch[_-]?pad|analysis|rationale|monologue|cot"
    "|plan(?:ning)?|deliberat(?:e|ion)|brainstorm(?:ing)?|contemplat(?:e|ion)|critique|draft)"
)
_NAME = rf"(?:[\w.|-]*[:_.|-]|ant)?{_WORDS}(?:[_-](?!(?:start|begin|end)\b)\w{{1,20}})?"
"""Pattern for names that mark thoughts, such as `think`, `seed:cot`, `internal_monologue` or `thought_process`."""
_CLOSES = r"\\?/[ \t]*|end[_▁](?:of[_▁])?|(?=[\w:.|-]{0,60}[_:-]end\b)"
_ATTRIBUTES = r"(?:\s[^<>&]{0,200})?(?<!/)"
_OPENS = "(?:(?:begin|start)[_▁](?:of[_▁])?)?"
_PREFIX, _SUFFIX = r"(?:\w{0,20}[|｜])?", "[|｜]?(?:>|&gt;)"
_SIDE = "(?:[_:-](?:start|begin|end))?"

_NAMED = (
    rf"(?P<tag>(?:<|&lt;){_PREFIX}(?P<tag_closes>{_CLOSES})?{_OPENS}(?P<tag_name>{_NAME}){_SIDE}{_ATTRIBUTES}{_SUFFIX})",
    rf"(?P<bracket>\[(?P<bracket_closes>{_CLOSES})?{_OPENS}(?P<bracket_name>{_NAME}){_SIDE}\s*\])",
)
"""Pattern for delimiters that contain such a name: `<think>`, `<think kind="x">`, `<|begin_of_thought|>`,
`<|think:start|>`, `[THINK]`."""
BRACKET_CLOSING = re.compile(rf"\[(?:{_CLOSES}){_OPENS}(?P<name>{_NAME}){_SIDE}\s*\]", re.IGNORECASE)
"""A bracketed name that closes a thought, such as `[/think]`. A bracketed name that nothing closes is a heading."""
BRACKET_TOKENS = frozenset({"[THINK]"})
"""Bracketed names that are control tokens. They open a thought even if nothing closes it."""

PAIRS = {
    "kimi": ("◁think▷", "◁/think▷"),
    "kimi_k3": (r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),
    "medgemma": ("<unused94>", "<unused95>"),
    "pangu": (r"\[unused16\]", r"\[unused17\]"),
    "gemma": (r"<\|channel>thought", r"<channel\|>"),
    "apertus": (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    "s1": (r"<\|im_start\|>think\b", r"<\|im_start\|>answer\b"),
    "muse": (
        r"(?:<\|start\|>assistant\s*)?to=self<\|message\|>",
        r"(?:<\|start\|>assistant\s*)?to=user<\|message\|>",
    ),
    # servers that drop the control tokens leave `analysis` and `assistantfinal`
    "gpt_oss": (
        r"<\|channel\|>(?:analysis|commentary)|(?-i:\A(?:analysis|commentary)(?=[A-Z]))",
        r"<\|channel\|>\s*final[^\n]{0,40}?<\|message\|>|assistantfinal",
    ),
    "granite": (r"\AHere is my thought process:", "Here is my response:"),
    "apriel": (r"\AHere are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
    # Ollama's heading alone opens nothing, because models write it too
    "ollama": (r"(?!)", r"^\.\.\.done thinking\.$"),
    # the next turn of the assistant closes such thoughts
    "clova": (r"<\|im_start\|>assistant/think\b|(?-i:\A/think\n)", r"(?!)"),
    # Solar and Inkling open thoughts with a tag
    "message": (r"(?!)", r"<\|content(?:_text)?\|>"),
}
"""Patterns that open and close a thought, by style (model family). Such thoughts do not nest."""
HEADINGS = {style: re.compile(PAIRS[style][1], re.IGNORECASE) for style in ("granite", "apriel")}
"""Patterns that close thoughts opened by a sentence.

Other models write such sentences too, so a sentence opens a thought only if a closing pattern follows."""
TOKEN_STYLES = PAIRS.keys() - {"granite", "ollama"}
"""Styles whose delimiters are control tokens, which do not occur in ordinary text."""
_PAIRED = [f"(?P<{style}>{opens}|(?P<{style}_closes>{closes}))" for style, (opens, closes) in PAIRS.items()]

_DETAILS = (
    rf"(?P<details><(?:(?P<details_closes>/)|(?P<details_thinks>(?=details\s[^<>]{{0,200}}\btype\s*=\W{{0,2}}{_WORDS}\b"
    rf"|details\b[^<>]{{0,200}}>\s{{0,9}}<summary>[^<\n]{{0,60}}\b{_WORDS}\b)))?details\b[^<>]{{0,300}}>)"
)
"""A collapsible section, Open WebUI's form of thoughts."""
_FENCE = r"(?P<fence>^(?:`{3,}+|~{3,}+)[ \t]*+(?P<info>[\w.+-]*+)[ \t\r]*+$)"
"""A line that opens or closes a code fence. A fence whose label is a thought name contains thoughts."""

_HEADERS = (
    r"<\|(?:im_\w{1,20}|start(?:_header_id|_of_role)?|header_start|begin|turn)\|?>|<start_of_turn>|<extra_id_1>|\]~b\]"
)
"""Control tokens that may precede a turn's role."""
_OTHERS = "user|human|system|developer|tool|observation|environment|ipython"


def _turn_pattern(roles: str) -> str:
    """Return the pattern for the start of a turn by one of these roles, in various models' templates."""
    return (
        rf"(?:{_HEADERS})[ ]?(?:{roles})\b(?!/think)"
        rf"|<[|｜](?:im_)?(?:{roles})(?:_(?:start|begin|token))?[|｜]>|\[\|(?:{roles})\|\]|<role>(?:{roles})</role>"
    )


USER_TURN = re.compile(rf"{_turn_pattern(_OTHERS)}|</s>\s{{0,9}}(?:<s>)?\s{{0,9}}\[INST\]", re.IGNORECASE)
"""The start of a turn by anyone but the assistant."""
PLAIN_TURN = re.compile(
    rf"^[ \t>#*_\[<]{{0,9}}+(?:{_OTHERS})(?: \d{{1,3}})?[*_\]>]{{0,3}}+ ?[:：]", re.IGNORECASE | re.MULTILINE
)
"""A line that begins a non-assistant turn without a control token: `User:`."""
TURN_END = re.compile(
    r"<[|｜](?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|end▁of▁sentence|END_OF_TURN_TOKEN)[|｜]>|<end_of_turn>|</s>"
)
"""The end of a turn."""
ASSISTANT_TURN = re.compile(_turn_pattern("assistant|model|ai|chatbot"), re.IGNORECASE)
"""The start of an assistant turn."""

FIRST = re.compile(
    r"(?=<[|｜\\/\w:.-]|&lt;|\[[|\\/\w:.-]|\]~|◁|a(?:na|ss)|comm|here|to=|\.{3}done|\A/|`{3}|~{3})", re.IGNORECASE
)
"""Lookahead for the first characters of all delimiters. It makes the search several times faster."""
LONGEST_FIRST = 4
"""Number of characters needed to decide whether a text may begin with an opening delimiter."""
_DELIMITER = "|".join((_DETAILS, *_NAMED, *_PAIRED, _FENCE))
THOUGHT = re.compile(
    f"{FIRST.pattern}(?:{_DELIMITER}|(?P<turn>{ASSISTANT_TURN.pattern}))",
    re.IGNORECASE | re.MULTILINE,
)
"""Pattern for a delimiter of thoughts, or the start of an assistant turn.

The last group is the delimiter's style. The group `STYLE_closes` is set if it closes a thought."""
THOUGHT_NAME = re.compile(_NAME, re.IGNORECASE)
LONGEST_THOUGHT_DELIMITER = 300

_ROLE = r"(?-i:assistant|model|ai|user|human)(?=\s|[<\[\]]|\Z)"
_TURN_TOKENS = (
    rf"(?:{_HEADERS})(?:{_ROLE})?(?:<\|message\|>)?",
    r"<\|(?:open|close)\|>\w{1,20}<\|sep\|>",  # Kimi K3
    r"<[|｜](?!(?:channel|message|constrain)\|)/?\w[\w▁/.:|-]{0,40}[|｜]>",  # ChatML, Llama, gpt-oss, DeepSeek, Cohere
    r"</?s>|<(?:bos|eos|pad|sep|eod|eop|eot|eoa|sop)>",  # Llama 2, Mistral, Gemma, InternLM
    r"<end_of_turn>|<turn\|>",  # Gemma
    r"\[/?INST\]|\[(?:BOS|EOS|PAD|gMASK|unused\d{1,2})\]",  # Mistral, GLM, openPangu
    r"\[\|\w{1,20}\|\]",  # EXAONE
    r"<seed:(?:bos|eos)>|</?longcat_s>|<SPECIAL_\d{1,3}>|<extra_id_\d{1,3}>",  # Seed-OSS, LongCat, Nemotron
    r"\[e~\[|\]~!b\[",  # MiniMax
    r"<role>\w{1,20}</role>",  # Ling
    r"\[END FINAL RESPONSE\]|<0x0A>",  # Apriel, Ernie
)
_TURN = re.compile(rf"(?!{_DELIMITER})(?:{'|'.join(_TURN_TOKENS)})\s*+", THOUGHT.flags)
"""A control token before or after a turn's text, such as `<|im_end|>` or `<|im_start|>assistant`."""
_LEADING_TURNS = re.compile(f"(?:{_TURN.pattern})*", THOUGHT.flags)
_LONGEST_TRAILING = 1000
"""Number of characters at the end of a reply that are searched for tokens."""

_ANSWERS = (
    "(?:(?:final|my)[_-]?)?(?:answer|response|result|output|reply|solution|conclusion|action|choice|decision)"
    "|tool_?call|final"
)
_WRAPPERS = (
    (rf"<(?:{_ANSWERS})>", rf"</(?:{_ANSWERS})>"),  # Hunyuan, Ernie, Granite
    (rf"\[(?:{_ANSWERS})\]", rf"\[/(?:{_ANSWERS})\]"),
    (r"(?:\$+|\\[(\[])?\s*+\\boxed\{(?:\\(?:text|math)\w{0,4}\{)?", r"\}{1,2}\s*+(?:\$+|\\[)\]])?"),
)
"""Opening and closing patterns of text that models write around a whole answer."""
_WRAPPED = [
    re.compile(rf"(?:{opens})(?P<inside>.*?)(?:{closes})", re.IGNORECASE | re.DOTALL) for opens, closes in _WRAPPERS
]


def strip_turn_tokens(reply: str) -> str:
    """Strip whitespace and turn tokens from both ends of a reply."""
    reply = reply.strip()
    leading = _LEADING_TURNS.match(reply)
    begin = leading.end() if leading else 0
    trailing = after = len(reply)
    for token in _TURN.finditer(reply, max(begin, len(reply) - _LONGEST_TRAILING)):
        if token.start() != after:
            trailing = token.start()
        after = token.end()
    return reply[begin : trailing if after == len(reply) else len(reply)].strip()


def unwrap_answer(text: str) -> str:
    """Return the text inside the tags or box around a whole answer, or the unchanged text without these."""
    matches = (wrapped.fullmatch(text) for wrapped in _WRAPPED)
    return next((match["inside"].strip() for match in matches if match), text)
