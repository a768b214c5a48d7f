"""Hostile replies in positions of every game, through every reader.

An attack is a reply, with the only text that each reader may take as the move. A failure is an exception, a reading of
an unknown kind, or a move other than that text (a substitution). A refused text that changes the match when applied is
a failure too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.robustness.row import Row, Wanted
from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.protocol import Match
from gymposium.plugins.host import host
from gymposium.replies.reading import KINDS, READERS, read_reply
from gymposium.util.streams import stream
from gymposium_testing.walk import play_matches

TRIES = 1_000_000
"""Replies read, over all games and readers."""
A_POSITION = 60
"""Attacks in each position; each is read by every reader."""
APPLIED = 20
"""One refused text in this many is also given to `Match.apply`."""

_GARBAGE = "".join(
    map(chr, [*range(0x20), 0x7F, 0x85, 0xA0, 0xAD, 0x200B, 0x202E, 0x2028, 0xD800, 0xFEFF, 0xFFFF, 0x1F0A1])
)
_ALPHABET = "abcxyzABC0129 -_+*/.,:;!?'\"\\`<>{}[]()|&%$#@~^=\n\t" + _GARBAGE
_CONTROL = ("<|im_end|>", "<|im_start|>assistant\n", "</s>", "[INST]", "<think>", "</think>", "<move>", "</move>")


@dataclass(frozen=True)
class Attack:
    """A reply, and by the name of a reader the only text that it may take as the move. A reader that is not named may
    take none; `move` may always take the whole reply."""

    reply: str
    may_be: dict[str, str] = field(default_factory=dict)


def garbage(rng: random.Random, longest: int = 40) -> str:
    """Random characters: letters, signs, control characters, a lone surrogate."""
    return "".join(rng.choices(_ALPHABET, k=rng.randrange(longest)))


def payload(rng: random.Random, legal: Sequence[str]) -> str:
    """Return a legal move, something that is almost one, or garbage."""
    move, other = rng.choice(legal), rng.choice(legal)
    at = rng.randrange(len(move) + 1)
    return rng.choice(
        [
            move,
            move.upper(),
            move.swapcase(),
            move[::-1],
            move + other,
            f"{move} {other}",
            f"{move}, {other}",
            f"{move}\n{other}",
            move[:at] + rng.choice(_GARBAGE) + move[at:],
            move[:at] + move[at + 1 :],
            move + rng.choice(_CONTROL),
            rng.choice(_CONTROL) + move,
            "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in move),
            "".join(chr(0x660 + int(c)) if c in "0123456789" else c for c in move),
            " ".join(move),
            f" {move}\t",
            move * rng.choice([2, 3, 1_000]),
            str(rng.randrange(-(10**30), 10**30)),
            garbage(rng),
        ]
    )


def tagged(rng: random.Random, text: str, other: str) -> Attack:
    """Return a reply in tags, well formed or not."""
    thought = rng.choice([garbage(rng), other, f"<move>{other}</move>", "<think>", "a\n" * rng.randrange(300)])
    whole = "<move>" not in text and "</move>" not in text
    bare = text.replace("<move>", "").replace("</move>", "")  # a tag in it would complete a tag that is missing
    right = {"tags": text} if whole else {}
    thinks = right if "</think>" not in thought else {}
    return rng.choice(
        [
            Attack(f"<move>{text}</move>", right),
            Attack(f"<think>{thought}</think><move>{text}</move>", thinks),
            Attack(f" \n<think>{thought}</think>\n<move>{text}</move>\n", thinks),
            Attack(f"<move>{text}</move><move>{other}</move>"),
            Attack(f"<move>{text}<move>{other}</move></move>"),
            Attack(f"<move>{bare}"),
            Attack(f"{bare}</move>"),
            Attack(f"<MOVE>{text}</MOVE>"),
            Attack(f"My move: <move>{text}</move>"),
            Attack(f"<move>{text}</move> I win."),
            Attack(f"<think><move>{text}</move></think>"),
            Attack(f"<think>{thought}<move>{text}</move>"),
            Attack(f"<move>{text}</move><think>{thought}</think>"),
            Attack(f"< move >{text}</ move >"),
        ]
    )


def as_json(rng: random.Random, text: str, other: str) -> Attack:
    """Return a reply in JSON, well formed or not."""
    quoted, ascii_only, others = (
        json.dumps(text, ensure_ascii=False),
        json.dumps(text),
        json.dumps(other, ensure_ascii=False),
    )
    right = {"json": text}
    return rng.choice(
        [
            Attack(f'{{"move": {quoted}}}', right),
            Attack(f' \n{{ "move" :{ascii_only} }}\t', right),
            Attack(f'{{"\\u006dove": {ascii_only}}}', right),
            Attack(f'{{"move": {quoted}, "move": {others}}}'),
            Attack(f'{{"move": {quoted}, "\\u006dove": {others}}}'),
            Attack(f'{{"move": {quoted}, "move": {quoted}}}'),
            Attack(f'{{"move": {quoted}, "why": {others}}}'),
            Attack(f'{{"Move": {quoted}}}'),
            Attack(f'{{"move": [{quoted}]}}'),
            Attack(f'[{{"move": {quoted}}}]'),
            Attack(f'{{"move": {{"move": {quoted}}}}}'),
            Attack(f'{{"move": {quoted}}} {{"move": {others}}}'),
            Attack(f'```json\n{{"move": {quoted}}}\n```'),
            Attack(f'{{"move": {quoted}'),
            Attack(f'{{"move": {rng.choice(["null", "NaN", "1e999", "-Infinity", "true", "9" * 5_000])}}}'),
            Attack(rng.choice(["[", '{"move":']) * rng.choice([10, 2_000, 100_000])),
            Attack("\ufeff" + f'{{"move": {quoted}}}'),
        ]
    )


def plain(rng: random.Random, text: str, other: str) -> Attack:
    """Return a reply without a form; rarely a huge one."""
    if rng.random() < 0.002:
        return Attack(text * 100_000)
    return Attack(rng.choice([text, f"{text}\n", f"I play {text}.", f"{text} <move>{other}", garbage(rng, 400)]))


KINDS_OF_ATTACK: tuple[Callable[[random.Random, str, str], Attack], ...] = (plain, tagged, as_json)


def faults(match: Match, seat: int, attack: Attack, apply: bool) -> Iterator[str]:
    """Yield what is wrong with how each reader reads the reply."""
    legal, pattern = match.legal_moves(seat), match.game.move_pattern
    for name, how in READERS.items():
        try:
            reading = read_reply(attack.reply, legal, how, pattern)
            reason = reading.reason(legal)
        except Exception as error:  # noqa: BLE001 (an exception of any kind is what is looked for)
            yield f"{name}: {type(error).__name__} from {attack.reply[:80]!r}"
            continue
        allowed = attack.reply if name == "move" else attack.may_be.get(name)
        if reading.kind not in KINDS or not isinstance(reason, str):
            yield f"{name}: {reading.kind!r} from {attack.reply[:80]!r}"
        if reading.kind == "move":
            wanted = None if allowed is None else allowed if legal is None else allowed.strip()
            if reading.move != wanted or (legal is not None and reading.move not in legal):
                yield f"{name}: {reading.move!r} from {attack.reply[:80]!r}"
        elif apply and legal is not None and reading.move is not None:
            yield from refused(match, seat, reading.move)


def refused(match: Match, seat: int, text: str) -> Iterator[str]:
    """Yield what is wrong with how the match refuses a text that is no legal move."""
    before = list(match.events)
    moves = {other: (match.legal_moves(other) or [""])[0] for other in match.to_move()}
    try:
        match.apply({**moves, seat: text})
    except IllegalMove:
        if list(match.events) != before:
            yield f"apply: {text[:80]!r} was refused and changed the match"
    else:
        yield f"apply: {text[:80]!r} was taken"


def attack_game(name: str, tries: int, seed: int) -> Row:
    """Return one game, attacked in positions of random play."""
    game, rng = load_game(name), stream(seed, "attacks", name)
    done, failures = 0, list[str]()
    while done < tries:
        for match in play_matches(game, rng.getrandbits(31), tries // (A_POSITION * len(READERS)) + 1):
            for seat in match.to_move():
                legal = match.legal_moves(seat) or ["0", "some text"]
                for number in range(A_POSITION):
                    text, other = payload(rng, legal), rng.choice(legal)
                    attack = rng.choice(KINDS_OF_ATTACK)(rng, text, other)
                    failures += [f"{name}: {fault}" for fault in faults(match, seat, attack, number % APPLIED == 0)]
                    done += len(READERS)
            if done >= tries:
                break
    return Row("replies", name, done, tuple(failures))


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield a row for each game."""
    names = list(host().games)
    for name in filter(wanted, names):
        yield attack_game(name, -(-TRIES // len(names)), seed)
