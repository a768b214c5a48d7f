"""Moves in replies that do not have the form that the prompt asks for.

The *answer* is the reply without its thoughts (`gymposium.replies.thoughts`). A *mark* is a place in the answer where a
move is marked, in one of these ways:

- `<move>b2</move>`, in any case, or `<move>b2` with nothing that closes it;
- `{"move": "b2"}`, in any case and with other keys, in a code fence or in text; the move may also be a call of a tool;
- an *odd* mark, whose move cannot be read: anything else that looks like a tag or a key called `move`, such as a broken
  tag or object, or a mark in an HTML comment. Words about moves, such as the header of a table, are no mark.

A mark with no text, or with an ellipsis, is an example of the form and does not count. The last mark holds the move. If
it is odd, or a complete mark before it holds another move, the reply has no move. An odd mark that only repeats the
move (`Move: b2`) does not count. Text behind the mark withdraws it if it names another move as the final choice
(`is_withdrawn`). Prose is never searched for a move.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from gymposium.replies.delimiters import find_answers, strip_turn_tokens, unwrap_answer
from gymposium.replies.thoughts import SplitReply, remove_thoughts
from gymposium.util.strict_json import strict_json

Repair = Literal["thoughts", "text", "fence", "json", "tags"]
"""What was wrong with a reply: `thoughts` before the move, `text` around it, a code `fence` around it, or `json` or
`tags` that were not asked for or are not written as asked."""
REPAIRS: tuple[Repair, ...] = get_args(Repair)

_TAG = re.compile(r"<(?P<slash>/?)move[ \t]*>", re.IGNORECASE)
_SIGN = r"[^\w\s.,;:!?()*–—-]"
"""A character of tags or keys, such as a bracket or a quotation mark: no punctuation of sentences, and no emphasis."""
_GAP = r"[^\w<{]?\s{0,20}+"
_WORD = r"(?:\w{0,20}m.?o.?v.?e\w{0,20}|(?:ove|mve|moe|mov)\b)"
"""The word move, also with a character too many or too few, or within another word (`final_move`)."""
_PROSE = (
    r"(?!\[moves?\s(?:made|played|chosen|sent|submitted|complete)"  # [Move made]
    r"|[\"'“`]moves?[\"'”`]\s(?:here|means?|refers?|in|of|as|for|tags?|keys?|field|and|or|the)\b"  # "Move" here means
    r"|[`|]{1,3}\s{0,20}\n\s{0,20}moves\b"  # a line of prose behind a fence or a table
    r"|\|[^\S\n]{0,20}moves?[^\S\n]{0,20}\|(?!>)"  # the header of a table
    r"|[^\w\s]{0,3}\s{0,20}\w{0,20}(?:remov|movement|moves?[_-](?:explanation|reason|rationale|analysis|comment|note"
    r"|description|history|list|number|count|type|quality|score|evaluation|justification|summary|confidence)))"
)
"""What marks no move, although it looks like a tag or a key."""
_ODD = re.compile(
    rf"{_PROSE}(?:(?P<opening>[<{{\[＜]|&\#?\w{{1,8}};|\\u\w{{4}})|{_SIGN}){_GAP}{_WORD}"
    rf"(?(opening)|(?={_GAP}(?:{_SIGN}|:)))"
    rf"|{_PROSE}(?:,|\n(?!{_GAP}\w{{0,20}}move[sd]\b)){_GAP}{_WORD}(?={_GAP}[:=])"  # a key without quotation marks
    rf"|(?<!re)(?!moves\b){_PROSE}m.?o.?v.?e\w{{0,20}}(?=\s{{0,20}}+(?:[>}}\]]|{_SIGN}?\s{{0,20}}+[:=]>?\s{{0,20}}+{_SIGN}))",
    re.IGNORECASE | re.DOTALL,
)
"""What looks like a tag or a key called move."""
_HINT = re.compile(r"m.?o.?v.?e|ove|mve|moe|mov|\\", re.IGNORECASE | re.DOTALL)
"""What every answer with a mark holds."""
_REACH = 80
"""The length beyond which no odd mark extends."""
_BEGINNING = re.compile(
    rf"(?P<tag>{_TAG.pattern})|(?P<comment><!--)|(?P<object>\{{(?=\s*+\"))|{_ODD.pattern}", re.IGNORECASE | re.DOTALL
)
"""What a mark may begin with."""
_MOST_BROKEN = 100
"""Number of broken objects behind which an answer is not searched further: the time of each grows with the answer."""
_EXAMPLE = re.compile(r"[\s.…]*")
_QUOTED_TAG = re.compile(r"`</?move[ \t]*>`(?!\w)", re.IGNORECASE)
"""A tag that is named, as in "the `<move>` tag"."""
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)
"""A decoder that finds the end of a value."""
_TOLERANT_JSON = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_BACKSLASH = "\ufdd0"
"""What stands for a backslash that escapes nothing, so that all positions remain: a character that no text has."""

_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w.+-]*")
_INFO = re.compile(r"[^\S\n]*+[\w.+-]*+[^\S\n]*+\n")
"""The rest of the line that opens a fence, such as `json`."""

_BEFORE = r"[\s*_#>~`\"'“(\[{|–—-]{0,9}+"
_BEHIND = r"[\s*_`\"'“]{0,9}+(?P<line>[^\n]{0,80})"
_KINDS = (
    "(?:(?:my|so|the|final|new|correct(?:ed)?|better|best|revised|updated|amended|actual|chosen|selected|recommended"
    "|optimal|winning|intended|real)[ _-]){%s,3}+"
)
_PLAY = r"(?:play|choose|pick|take|select|go\s+with|settle\s+on|meant?)"
_SO = r"(?:(?:therefore|thus|hence|so|then|now|finally|overall|instead|ok(?:ay)?|in\s+conclusion)[\s,]{1,3}+){0,2}+"
_LABEL = re.compile(  # Move: b2, [Answer] b2, "answer": "b2", or a heading
    rf"(?:^|[.:;!?,(\[{{]){_BEFORE}{_KINDS % 0}(?P<noun>move|answer|choice|decision|action|selection|correction"
    rf"|revision|corrected|revised|final|output|response|play|edit|update|better)(?:\s?\([^()\n]{{1,40}}\))?"
    rf"(?:[*_`\"'”]{{0,3}}+(?:\s{{0,9}}+(?:[:：=|]|[-=]>|→|[–—-](?=\s))|\](?=\s))"
    rf"|[*_#:]{{0,3}}+[ \t\r]{{0,9}}+\n){_BEHIND}",
    re.IGNORECASE | re.MULTILINE,
)
_STATEMENTS = [
    # My move is b2
    re.compile(
        rf"(?:^|[.:;!?…]|\b(?:wait|no|actually|hmm|sorry|oops|instead|rather),){_BEFORE}{_SO}{_KINDS % 1}"
        rf"(?:move|answer|choice)\s+(?:is|will\s+be|should\s+be|must\s+be)(?:\s+now)?\b:?{_BEHIND}",
        re.IGNORECASE | re.MULTILINE,
    ),
    # No, I play b2
    re.compile(
        rf"\b(?:wait|no|actually|hmm|sorry|oops|instead|on\s+second\s+thought|scratch\s+that)[\s,.:;!…–—-]{{1,9}}+"
        rf"(?:i(?:['’]ll|\s+will)?\s+{_PLAY}|make\s+(?:it|that))\b{_BEHIND}",
        re.IGNORECASE,
    ),
    # So I will play b2
    re.compile(
        rf"(?:^|[.:;!?…]){_BEFORE}{_SO}i(?:['’]ll|\s+will|(?:['’]m|\s+am)\s+going\s+to)?(?:\s+(?:now|therefore|thus))?\s+"
        rf"{_PLAY}\b:?{_BEHIND}",
        re.IGNORECASE | re.MULTILINE,
    ),
    # Let me play b2, or I'll play b2 instead
    re.compile(
        rf"(?:^|[.;!?:,]){_BEFORE}(?:let(?:['’]s|\s+me)\s+{_PLAY}|i(?:['’]ll|\s+will)?\s+{_PLAY}"
        rf"(?=[^\n.]{{0,40}}\binstead\b))\b{_BEHIND}",
        re.IGNORECASE | re.MULTILINE,
    ),
    # On second thought: b2
    re.compile(rf"\b(?:on\s+second\s+thought|scratch\s+that)[,.:;!…–—-]{{1,3}}+{_BEHIND}", re.IGNORECASE),
]
"""Sentences that choose a move, and what follows them."""
_UNCERTAIN = re.compile(
    r"\b(?:if|when(?:ever)?|once|unless|suppose|assuming|in\s+case|should\s+(?:they|he|she|the))\b", re.IGNORECASE
)
_LATER = re.compile(rf"{_UNCERTAIN.pattern}|\b(?:next|later|afterwards?)\b", re.IGNORECASE)
"""What says that a sentence is about another turn."""
_SENTENCE_END = re.compile(r"[.!?…\n]")
_SENTENCE_BREAK = re.compile(r"[.!?…:;—–][*_`\"'”’)]*$|^\W+$")
"""What ends the word before a sentence."""
_CHANGE = re.compile(
    r"(?:^|[.:;!?…(—–]|\b(?:no|but|hmm+|oh|ah|oops|sorry)\b)[\s*_>\"'“(,.!…—–-]{0,9}+"
    r"(?:wait|actually|on\s+(?:second\s+thought|reflection)|scratch\s+that"
    r"|let\s+me\s+(?:correct|fix|change|revise|reconsider|rethink)|i(?:['’]ve|\s+have)?\s+changed?\s+my\s+mind)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What begins a sentence that states a change."""
_REJECTED = re.compile(
    r"(?:(?:is|was|looks|seems|would\s+be)\s+(?:\w+\s+)?(?:worse|bad|weak\w*|losing|illegal|taken|occupied|blocked)|loses|fails)\b",
    re.IGNORECASE,
)
"""What follows a move that is named and not chosen."""
_REASONS = frozenset({"because", "since", "as", "instead", "now"})
"""Words that may follow a move that is named alone."""
_INTRODUCES_CHOICE = re.compile(
    r"\b(?:so|thus|therefore|hence|no|wait|i|my|final|instead|correct\w*|answer|move|choice|choose|play|best)\b",
    re.IGNORECASE,
)
_INTRODUCES_LIST = re.compile(
    r"\b(?:alternativ\w*|other|options?|between|consider\w*|candidates?|legal|possible|moves|choices|rejected|opponent\w*"
    r"|threat\w*|next|could|would|might|not)\b",
    re.IGNORECASE,
)
_LIST_MARKER = re.compile(r"(?:[>*+•–-]\s+)+")
_EDGES = "*_`\"'“”‘’()[]{}<>.,;:!?$"
_MOST_WORDS = 12
"""Number of words of a line that may be part of a move."""
_MOST_LISTED = 50
"""Number of lines at the end of an answer that are looked at for a list of moves."""
_MOST_LABELS = 1000
"""Number of different labels behind which a move counts as withdrawn without a look at them."""

_LONGEST_DECORATED = 1000
_MOST_LAYERS = 5
"""Number of fences, tags and boxes around each other that are removed from a move."""
_INVISIBLE = "\ufeff\u200b\u2060"
_DECORATION = re.compile(
    r"""(?P<quote>\*\*|__|\$\$?|["'`*_])(?P<quoted>.+)(?P=quote)|(?P<sentence>.+)\."""
    r"""|(?:\[(?=.+\])|[“„«‘](?=.+[”“»’])|\\\((?=.+\\\))|\\(?:text|math)\w{0,4}\{(?=.+\}))(?P<enclosed>.+?)(?:\]|[”“»’]|\\\)|\})"""
    r"|[*_#\s]*(?:(?:my|the|final|best) )*(?:move|answer)[*_]*(?:\s*:[*_]*|[ \t\r]*\n)(?P<named>.+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class MoveMark:
    """A mark in an answer."""

    start: int
    end: int
    form: Literal["tags", "json"]
    text: str | None
    """The move, with its white space; None for an odd mark."""
    is_complete: bool = True
    is_exact: bool = False
    """Whether it is written as a prompt asks for it."""


def find_marks(answer: str) -> Iterator[MoveMark]:
    """Yield the marks in an answer, in order. The time grows with the length of the answer."""
    at = broken = 0
    tolerated = cache(lambda: tolerate(answer))
    if not _HINT.search(answer):
        return
    while beginning := _BEGINNING.search(answer, at):
        start = beginning.start()
        if beginning["tag"] and start and _QUOTED_TAG.match(answer, start - 1):
            at = beginning.end()
            continue
        if beginning["tag"]:
            mark = _tagged(answer, beginning, at)
            at = mark.end if mark.is_complete else beginning.end()
        elif beginning["comment"]:
            closed = answer.find("-->", start)
            at = len(answer) if closed < 0 else closed
            mark = _odd(answer, start, at)
        elif beginning["object"]:
            mark = _object(answer, start, tolerated)
            at = mark.end
            broken += mark.form == "tags"
            if broken == _MOST_BROKEN:
                mark = _odd(answer, start, at := len(answer))
        else:
            mark = _odd(answer, start, at := beginning.end())
        if mark.text is None or not _EXAMPLE.fullmatch(mark.text):
            yield mark


def find_final_mark(answer: str) -> MoveMark | None:
    """Return the mark that holds the move of an answer, or None if the answer has no move."""
    marks = [*find_marks(answer)]
    last = next((number for number in reversed(range(len(marks))) if marks[number].text is not None), None)
    if last is None or (final := marks[last].text) is None:
        return None
    if not all(_repeats(answer, odd, undress(final)[0]) for odd in marks[last + 1 :]):
        return None
    differ = any(mark.text.strip() != final.strip() for mark in marks if mark.is_complete and mark.text is not None)
    return None if differ else marks[last]


def _repeats(answer: str, odd: MoveMark, move: str) -> bool:
    """Whether an odd mark is a label in front of a move, such as `Move: b2`."""
    label = _LABEL.search(answer, odd.start, odd.end + _REACH)
    if label is None or label.start() > odd.end:
        return False
    return _begins_with(label["line"].casefold(), move.casefold())


@dataclass(frozen=True, slots=True)
class Found:
    """A move that was found in a reply of another form."""

    move: str
    """Its text, with white space."""
    repairs: set[Repair]
    behind: str = ""
    """The answer behind the mark of the move; empty if no mark holds it."""


def find_move(answer: SplitReply, form: str, *, is_free_text: bool = False) -> Found | None:
    """Return the marked move of an answer, and what was repaired apart from thoughts; None if there is no move. `form`
    is the form that the prompt asks for. Free text is read whole or not at all."""
    text = answer.text
    mark = find_final_mark(text)
    if mark is None or mark.text is None or mark.start < answer.certain or (is_free_text and not _is_whole(text, mark)):
        return None
    is_fenced, is_alone = _surroundings(text, mark)
    if answer.ends_with_closing and not is_alone:
        return None
    needed: dict[Repair, bool] = {
        "text": not is_alone,
        "fence": is_fenced,
        mark.form: mark.form != form or not mark.is_exact,
    }
    return Found(mark.text, {name for name, is_needed in needed.items() if is_needed}, text[mark.end :])


def is_withdrawn(move: str, behind: str, legal: Sequence[str], pattern: re.Pattern[str] | None) -> bool:
    """Whether the text behind the mark of a move names another one as the final choice: with a label such as `Move:`,
    in the tags or the box of an answer, in its last line, in a sentence such as "I choose b2", or behind one that
    states a change. With a label, moves that are not legal count too if they have the shape of a move (`pattern`).
    """
    lines = {label["line"] for label in _LABEL.finditer(behind)} | {*find_answers(behind)}
    lines.update(
        found["line"]
        for statement in _STATEMENTS
        for found in statement.finditer(behind)
        if not _is_conditional(behind, found)
    )
    if len(lines) > _MOST_LABELS:
        return True
    moves = index_moves(legal if move in legal else [*legal, move])
    named = {_named(line, moves, pattern) for line in lines} | {_last_line(behind, moves)}
    if any(one not in (None, move) and (one in legal or _fold(one) != _fold(move)) for one in named):
        return True
    change = _CHANGE.search(behind)
    return change is not None and _has_other_move(behind[change.end() :], move, moves)


def is_text_withdrawn(text: str, behind: str) -> bool:
    """Whether a label behind marked free text, such as `Final answer:`, or the tags or the box of an answer hold
    another text."""
    labels = (label for label in _LABEL.finditer(behind) if label["noun"].lower() in ("move", "answer"))
    lines = [*(label["line"] for label in labels), *find_answers(behind)]
    wanted = " ".join(text.split()).strip(_EDGES).casefold()
    others = {" ".join(line.split()).strip(_EDGES).casefold() for line in lines} - {""}
    return not all(wanted.startswith(other) or _begins_with(other, wanted) for other in others)


def _begins_with(line: str, move: str) -> bool:
    """Whether a line begins with a move as words of their own."""
    return line.startswith(move) and not line[len(move) : len(move) + 1].isalnum()


def _is_conditional(text: str, found: re.Match[str]) -> bool:
    """Whether the sentence of a statement is about another turn, such as "If they take b2, I'll play c1"."""
    start = found.start()
    before = "" if text[start] in ".;!?…\n" else _SENTENCE_END.split(text[max(0, start - 200) : start])[-1]
    line = _SENTENCE_END.split(found["line"], maxsplit=1)[0]
    return _UNCERTAIN.search(before) is not None or _LATER.search(line) is not None


def index_moves(legal: Sequence[str]) -> dict[str, list[str]]:
    """Return the legal moves, grouped by what is left without case and white space, for `find_legal`."""
    moves = defaultdict[str, list[str]](list)
    for move in legal:
        moves[_fold(move)].append(move)
    return moves


def find_legal(text: str, moves: Mapping[str, Sequence[str]]) -> str | None:
    """Return the move of `index_moves` that a text is, or else the only one that differs in case or white space."""
    equal = moves.get(_fold(text), ())
    return text if text in equal else equal[0] if len(equal) == 1 else None


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _named(line: str, moves: Mapping[str, Sequence[str]], pattern: re.Pattern[str] | None) -> str | None:
    """Return the longest move at the start of a line, without decoration; None if it begins with none. A word or a
    number is no move if it begins a phrase, such as `Fold equity`."""
    words = line.partition("</")[0].split()[:_MOST_WORDS]
    texts = list[str]()
    for count in range(len(words), 0, -1):
        begin, following = " ".join(words[:count]), " ".join(words[count : count + 1])
        is_alone = not following[:1].isalnum() or not begin[-1].isalnum() or following.strip(_EDGES).lower() in _REASONS
        options = (begin, undress(begin)[0], begin.strip(_EDGES))
        texts += [text for text in options if is_alone or not (text.isalpha() or text.isdigit())]
    named = next((move for text in texts if (move := find_legal(text, moves)) is not None), None)
    if named is not None or pattern is None:
        return named
    return next((text for text in texts if pattern.fullmatch(text) or pattern.fullmatch(text.lower())), None)


def _last_line(behind: str, moves: Mapping[str, Sequence[str]]) -> str | None:
    """Return the move that the last line consists of; None if it is no move, or part of a list of others."""
    lines = [line for line in behind.split("\n")[1:] if line.strip("`~ \t\r")]
    if not lines or (last := _move_alone(lines[-1], moves)) is None:
        return None
    above = (line for line in reversed(lines[-_MOST_LISTED:]) if _move_alone(line, moves) is None)
    title = next(above, behind.partition("\n")[0]).rstrip("*_ \t\r")
    if title.endswith((":", "：")) and (_INTRODUCES_LIST.search(title) or not _INTRODUCES_CHOICE.search(title)):
        return None
    return last


def _move_alone(line: str, moves: Mapping[str, Sequence[str]]) -> str | None:
    """Return the move that a line consists of, without decoration."""
    if len(line) > _LONGEST_DECORATED:
        return None
    item = _LIST_MARKER.sub("", line.strip(), count=1)
    return find_legal(undress(line)[0], moves) or find_legal(undress(item)[0], moves)


def _has_other_move(text: str, move: str, moves: Mapping[str, Sequence[str]]) -> bool:
    """Whether a text names another legal move as a move, and does not reject it."""
    longest = dict[str, int]()
    for one in filter(None, moves):
        words = one.split()
        longest[words[0].strip(_EDGES)] = max(longest.get(words[0].strip(_EDGES), 0), len(words))
    for line in text.split("\n"):
        words, at = line.replace("</", " </").split(), 0
        while at < len(words):
            count = min(longest.get(words[at].strip(_EDGES).casefold(), 0), _MOST_WORDS, len(words) - at)
            named = None
            while count > 0 and named is None:
                begin = " ".join(words[at : at + count])
                named = find_legal(begin, moves) or find_legal(begin.strip(_EDGES), moves)
                count -= named is None
            if named not in (None, move) and _is_chosen(words, at, at + count):
                return True
            at += max(count, 1)
    return False


def _is_chosen(words: list[str], start: int, end: int) -> bool:
    """Whether the words of a line from `start` to `end` name a move, and the words around them do not reject it. A
    single word without a digit, such as `check`, must be set off or a sentence; a single digit may also end one."""
    first, last = words[start], words[end - 1]
    is_set_off = not first[0].isalnum() and not last.rstrip(".,;:!?")[-1:].isalnum()
    if end == start + 1 and not is_set_off:
        is_word = not any(map(str.isdigit, first))
        begins = start == 0 or _SENTENCE_BREAK.search(words[start - 1]) is not None
        ends = end == len(words) or last.endswith((".", "!"))
        if (is_word and not (begins and ends)) or (len(first.strip(_EDGES)) == 1 and not ends):
            return False
    before = " ".join(words[max(0, start - 2) : start]).lower()
    if before.endswith(("than", "not", "unlike", "instead of")):
        return False
    return not last[-1].isalnum() or _REJECTED.match(" ".join(words[end : end + 4])) is None


def _is_whole(answer: str, final: MoveMark) -> bool:
    """Whether all marks in an answer are complete, and no delimiter of thoughts makes the final one part of a thought
    or stands behind it. A delimiter before it makes a thought of other marks before it."""
    marks = [
        mark for mark in find_marks(answer) if mark.text is not None or not _repeats(answer, mark, final.text or "")
    ]
    before, after = answer[: final.start].strip(), answer[final.end :].strip()
    if not all(mark.is_complete and mark.text is not None for mark in marks) or remove_thoughts(after) != after:
        return False
    return remove_thoughts(before) == before or (len(marks) == 1 and remove_thoughts(f"{before}\n.").endswith("."))


def unwrap_fence(text: str) -> str:
    """Return the content of the code fence that a text consists of, or the text if it is none."""
    fence = re.match("`{3,}|~{3,}", text)
    inside = text[fence.end() :].removesuffix(fence[0]) if fence else text
    if fence is None or len(text) - len(inside) < 2 * len(fence[0]) or fence[0][:3] in inside:
        return text
    info = _INFO.match(inside)
    return inside[info.end() if info else 0 :].strip()


def undress(text: str) -> tuple[str, set[Repair]]:
    """Return a move without what models write around it, and what that is: a code fence, line breaks within the JSON
    of a call, control tokens, tags or a box around an answer, emphasis, quotation marks, a full stop, `Move:`,
    invisible characters."""
    bare, repairs = text.strip(), set[Repair]()
    for _ in range(_MOST_LAYERS):
        outer = bare
        if (unfenced := unwrap_fence(outer)) != outer:
            repairs.add("fence")
        if (bare := unwrap_answer(strip_turn_tokens(unfenced))) != unfenced:
            repairs.add("text")
        if bare == outer:
            break
    joined = _one_line_each(bare)
    if joined is not None:
        return joined, {*repairs, "json"}
    if len(bare) > _LONGEST_DECORATED:
        return bare, repairs
    plain = bare.strip(_INVISIBLE).strip()
    while decoration := _DECORATION.fullmatch(plain):
        inside = decoration["quoted"] or decoration["sentence"] or decoration["enclosed"] or decoration["named"]
        plain = unwrap_answer(inside.strip())
    return plain, {*repairs, "text"} if plain != bare else repairs


def _tagged(answer: str, tag: re.Match[str], after: int) -> MoveMark:
    """The mark that begins with a tag. `after` is the end of the mark before it."""
    start = tag.start()
    if tag["slash"]:  # it closes nothing
        return MoveMark(start, tag.end(), "tags", None if answer[after:start].strip() else "")
    following = _TAG.search(answer, tag.end())
    end = following.start() if following else len(answer)
    is_complete = following is not None and following["slash"] == "/"
    is_exact = is_complete and tag[0] == "<move>" and following is not None and following[0] == "</move>"
    return MoveMark(
        start, following.end() if following and is_complete else end, "tags", answer[tag.end() : end],
        is_complete, is_exact,
    )  # fmt: skip


def _object_end(answer: str, start: int, tolerated: Callable[[], str]) -> tuple[int, bool]:
    """Return the end of an object, and whether it is valid JSON: it may also hold what `tolerate` repairs. Raises
    `json.JSONDecodeError`, or `RecursionError` for objects that are nested too deeply."""
    try:
        return _JSON.raw_decode(answer, start)[1], True
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid"):
            raise
    return _TOLERANT_JSON.raw_decode(tolerated(), start)[1], False


def tolerate(text: str) -> str:
    """Return a text of the same length without backslashes that escape nothing in JSON, such as those of LaTeX.
    `load_object` puts them back."""
    return text if _BACKSLASH in text else _ESCAPE.sub(lambda escape: escape[1] or _BACKSLASH, text)


def load_object(text: str) -> dict[str, Any]:
    """Return the value of a JSON object, also with line breaks in its strings. Raises `ValueError`."""
    value: dict[str, Any] = strict_json(text, any_integer=True, raw_lines=True)
    return {key: move.replace(_BACKSLASH, "\\") if isinstance(move, str) else move for key, move in value.items()}


def _object(answer: str, start: int, tolerated: Callable[[], str]) -> MoveMark:
    """The mark that begins with a brace; a blank one for an object that is none."""
    try:
        end, is_valid = _object_end(answer, start, tolerated)
    except json.JSONDecodeError as error:
        return _odd(answer, start, max(error.pos, start + 1))
    except RecursionError:
        return _odd(answer, start, len(answer))
    try:
        value = load_object((answer if is_valid else tolerated())[start:end])
    except ValueError:
        return _odd(answer, start, end)
    match [move for key, move in value.items() if key.lower() == "move"]:
        case [int(move)] if not isinstance(move, bool):
            return MoveMark(start, end, "json", str(move))
        case [str(move)]:
            return MoveMark(start, end, "json", move, is_exact=is_valid and len(value) == 1 and "move" in value)
        case [{"name": str(), "arguments": dict()} as call]:
            return MoveMark(start, end, "json", json.dumps(call, ensure_ascii=False))
    return _odd(answer, start, end)


def _odd(answer: str, start: int, end: int) -> MoveMark:
    """The mark in a part of an answer that cannot be read; a blank one if that part marks no move."""
    return MoveMark(start, end, "tags", None if _ODD.search(answer, start, end + _REACH) else "")


def _surroundings(answer: str, mark: MoveMark) -> tuple[bool, bool]:
    """Whether a mark fills a code fence, and whether the answer holds nothing else."""
    before, after = answer[: mark.start].strip(), answer[mark.end :].strip()
    head, _, line = before.rpartition("\n")
    is_fenced = _FENCE.fullmatch(line) is not None and after.startswith(("```", "~~~"))
    if is_fenced:
        before, after = head.strip(), after.lstrip("`~").strip()
    return is_fenced, not before and not after


def _one_line_each(text: str) -> str | None:
    """Objects of JSON in lines of their own; None for other text, and for objects that are written so already."""
    lines, at = [], 0
    while text.startswith("{", at):
        try:
            _, end = _JSON.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            return None
        lines.append(text[at:end].replace("\r", "").replace("\n", " "))
        while text[end : end + 1].isspace():
            end += 1
        at = end
    joined = "\n".join(lines)
    return joined if at == len(text) and joined != text else None
