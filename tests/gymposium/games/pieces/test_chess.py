"""Chess against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Event
from gymposium.replies.reading import READERS, read_reply

CHESS: OpenSpielGame = load_game("chess")  # type: ignore[assignment]
ROOK = ((1, 0), (-1, 0), (0, 1), (0, -1))
BISHOP = ((1, 1), (1, -1), (-1, 1), (-1, -1))
KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
STEPS = {"r": ROOK, "b": BISHOP, "q": ROOK + BISHOP, "k": ROOK + BISHOP, "n": KNIGHT}
CASTLING = {"e1g1": ("h1", "f1"), "e1c1": ("a1", "d1"), "e8g8": ("h8", "f8"), "e8c8": ("a8", "d8")}
"""Where the rook stands, and where it goes."""

TOLD = re.search(r"when a position occurs (\d+) times(?s:.*)after (\d+) moves in a row, counting both", CHESS.rules(0))
assert TOLD is not None
TIMES, QUIET = int(TOLD[1]), int(TOLD[2])

Board = dict[str, str]
"""The pieces by square, without the empty ones."""


def beside(square: str, right: int, up: int) -> str:
    """Return the square at this distance, or "" beyond the board."""
    name = chr(ord(square[0]) + right) + chr(ord(square[1]) + up)
    return name if "a" <= name[0] <= "h" and "1" <= name[1] <= "8" else ""


def owner(piece: str) -> int:
    return int(piece.isupper())


class RulesModel:
    """Model of a match, by the rules in the prompt. White is seat 1."""

    def __init__(self) -> None:
        self.board: Board = {}
        for column, piece in zip("abcdefgh", "rnbqkbnr", strict=True):
            self.board |= {f"{column}8": piece, f"{column}7": "p", f"{column}2": "P", f"{column}1": piece.upper()}
        self.seat, self.quiet, self.number = 1, 0, 1
        self.rights, self.passed = set(CASTLING), ""
        self.since: list[str] = []
        self.seen = Counter([self.position()])

    def position(self) -> tuple[object, ...]:
        return frozenset(self.board.items()), self.seat, frozenset(self.rights), self.passed

    def reach(self, board: Board, square: str) -> Iterator[str]:
        """Return the squares that a piece attacks."""
        piece = board[square]
        if piece in "Pp":
            yield from (beside(square, right, 1 if piece == "P" else -1) for right in (-1, 1))
            return
        for right, up in STEPS[piece.lower()]:
            at = beside(square, right, up)
            while at:
                yield at
                at = "" if piece in "KkNn" or at in board else beside(at, right, up)

    def attacked(self, board: Board, square: str, by: int) -> bool:
        return any(owner(piece) == by and square in self.reach(board, at) for at, piece in board.items())

    def after(self, move: str) -> Board:
        board, start, end = dict(self.board), move[:2], move[2:4]
        piece = board.pop(start)
        if piece in "Pp" and end == self.passed:
            del board[end[0] + start[1]]
        if piece in "Kk" and move in CASTLING:
            rook, to = CASTLING[move]
            board[to] = board.pop(rook)
        board[end] = piece if len(move) == 4 else (move[4].upper() if self.seat else move[4])
        return board

    def ideas(self) -> Iterator[str]:
        """Return moves, including those that leave the king in check."""
        for square, piece in self.board.items():
            if owner(piece) != self.seat:
                continue
            ends = [at for at in self.reach(self.board, square) if at]
            if piece in "Pp":
                up, first = (1, "2") if piece == "P" else (-1, "7")
                ends = [at for at in ends if at == self.passed or at in self.board]
                if (one := beside(square, 0, up)) not in self.board:
                    ends += [one, *([beside(one, 0, up)] if square[1] == first else [])]
                    ends = [at for at in ends if at[0] != square[0] or at not in self.board]
            for end in ends:
                if end not in self.board or owner(self.board[end]) != self.seat:
                    promotes = piece in "Pp" and end[1] in "18"
                    yield from (square + end + new for new in ("qrbn" if promotes else [""]))

    def castlings(self) -> Iterator[str]:
        for move in self.rights & {"e1g1", "e1c1"} if self.seat else self.rights & {"e8g8", "e8c8"}:
            (rook, crossed), row = CASTLING[move], move[1]
            between = [f"{c}{row}" for c in ("fg" if rook[0] == "h" else "bcd")]
            ways = (move[:2], crossed, move[2:])
            if not self.board.keys() & between and not any(self.attacked(self.board, s, 1 - self.seat) for s in ways):
                yield move

    def king(self, board: Board) -> str:
        return next(square for square, piece in board.items() if piece == "kK"[self.seat])

    def legal(self) -> list[str]:
        safe = [
            move
            for move in self.ideas()
            if not self.attacked(board := self.after(move), self.king(board), 1 - self.seat)
        ]
        return sorted([*safe, *self.castlings()])

    def in_check(self) -> bool:
        return self.attacked(self.board, self.king(self.board), 1 - self.seat)

    def too_little(self) -> bool:
        rest = [(piece.lower(), square) for square, piece in self.board.items() if piece not in "Kk"]
        if all(piece == "b" for piece, _ in rest):
            return len({(ord(square[0]) + ord(square[1])) % 2 for _, square in rest}) < 2
        return [piece for piece, _ in rest] == ["n"]

    def drawn(self) -> str:
        """Return why the game is a draw whatever the legal moves, if it is."""
        if self.too_little():
            return "too little left"
        if self.seen[self.position()] == TIMES:
            return "third time"
        return "quiet" if self.quiet == QUIET else ""

    def play(self, move: str) -> None:
        piece, kept = self.board[move[:2]], set(self.rights)
        took = move[2:4] in self.board
        board = self.after(move)
        self.rights -= {c for c in CASTLING if {c[:2], CASTLING[c][0]} & {move[:2], move[2:4]}}
        self.quiet = 0 if took or piece in "Pp" else self.quiet + 1
        if not self.quiet or self.rights != kept:
            self.since = []
        self.since.append(move)
        self.board, self.passed = board, ""
        if piece in "Pp" and abs(ord(move[1]) - ord(move[3])) == 2:
            self.passed = f"{move[0]}{'63'[self.seat]}"
        self.number += self.seat == 0
        self.seat = 1 - self.seat
        if not any(move[2:4] == self.passed and self.board[move[:2]] in "Pp" for move in self.legal()):
            self.passed = ""
        self.seen[self.position()] += 1


def check_position(match: OpenSpielMatch, account: RulesModel) -> None:
    for seat in (0, 1):
        text = match.observe(seat).text
        head, _, rest = text.partition("The board:\n")
        *lines, columns, facts, moves = rest.splitlines()
        assert columns.split() == list("abcdefgh")
        board = {
            f"{c}{row}": cell for row, *cells in (line.split() for line in lines) for c, cell in zip("abcdefgh", cells)
        }
        assert {square: piece for square, piece in board.items() if piece != "."} == account.board
        over = re.search(r"The game is over: (.*?)\.", head)
        turn = ", to move" if match.to_move() == (seat,) else ""
        assert head.startswith(f"You are {('Black', 'White')[seat]}{turn}.")
        assert (over is not None) == (match.to_move() == ())
        assert f"Move {account.number}. " in head
        told = re.fullmatch(
            r"Rights to castle: (.*)\. En passant square: (.*)\. Moves without capture or pawn move: (\d+)\. "
            r"Times that this position has occurred: (\d)\.",
            facts,
        )
        assert told is not None
        assert set(told[1].replace("none", "").split()) == account.rights
        assert told[2] == (account.passed or "none")
        assert (int(told[3]), int(told[4])) == (account.quiet, account.seen[account.position()])
        assert moves.partition(": ")[2] == f"{' '.join(account.since) or 'none'}."
        fen, since, legal = match.observe(seat, "compact").text.splitlines()
        empty = re.sub(r"\d", lambda n: "." * int(n[0]), fen.split()[0]).replace("/", "")
        assert empty == "".join(board[f"{c}{r}"] for r in "87654321" for c in "abcdefgh")
        assert fen.split()[1] == "bw"[account.seat]
        assert since == f"since {' '.join(account.since) or 'none'}"
        assert legal == f"legal {' '.join(match.legal_moves(seat)) or 'none'}"


def play(seed: int, *, captures: bool, every: int) -> tuple[str, OpenSpielMatch]:
    """Play a random match beside the model, which decides its end. Legal moves are compared at some positions."""
    rng = random.Random(f"{'greedy' if captures else 'any'}{seed}")
    match, account = CHESS.new(0), RulesModel()
    while match.to_move():
        assert match.to_move() == (account.seat,)
        assert account.drawn() == ""
        moves = match.legal_moves(account.seat)
        if not len(match.events) % every:
            check_position(match, account)
            assert sorted(moves) == account.legal()
        if captures:
            pieces = account.board
            takes = [m for m in moves if m[2:4] in pieces or (m[2:4] == account.passed and pieces[m[:2]] in "Pp")]
            moves = takes or moves
        move = moves[int(rng.random() * len(moves))]
        match.apply({account.seat: move})
        account.play(move)
    check_position(match, account)
    if why := account.drawn():
        return why, match
    assert account.legal() == []
    return ("checkmate" if account.in_check() else "stalemate"), match


@pytest.mark.parametrize(
    ("seed", "captures", "end"),
    [
        (25, False, "checkmate"),
        (31, False, "stalemate"),
        (39, False, "quiet"),
        (1, True, "too little left"),
        (12, True, "stalemate"),
        (23, True, "checkmate"),
        (45, True, "third time"),
        (48, True, "too little left"),
    ],
)
def test_play_agrees_with_the_rules_model(seed: int, captures: bool, end: str) -> None:
    why, match = play(seed, captures=captures, every=2)
    assert why == end
    loser = next((seat for seat, value in enumerate(match.returns()) if value < 0), None)
    assert (loser is not None) == (end == "checkmate")
    told = "a draw" if loser is None else f"{('Black', 'White')[loser]} is checkmated"
    assert f"The game is over: {told}." in match.observe(0).text
    assert match.returns() == ((0.0, 0.0) if loser is None else (1.0, -1.0) if loser else (-1.0, 1.0))


def load(moves: str) -> OpenSpielMatch:
    return CHESS.load([Event(1 - i % 2, move) for i, move in enumerate(moves.split())])


def test_white_is_seat_1_and_begins() -> None:
    match = CHESS.new(0)
    assert match.to_move() == (1,)
    assert CHESS.rules(1).endswith("You play White and move first, up the board.\n")
    assert CHESS.rules(0).endswith("You play Black and move second, down the board.\n")
    assert all(f"occurs {TIMES} times, or after {QUIET} moves" in CHESS.rules(seat, "compact") for seat in (0, 1))
    assert [CHESS.rules(seat, "compact")[:21] for seat in (0, 1)] == ["chess, you are Black;", "chess, you are White;"]
    assert {"a2a3", "a2a4", "g1f3"} <= set(match.legal_moves(1))
    assert {"a7a6", "a7a5", "g8f6"} <= set(load("e2e4").legal_moves(0))


@pytest.mark.parametrize(
    ("moves", "loser"), [("f2f3 e7e5 g2g4 d8h4", 1), ("e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7", 0)], ids=["fool", "scholar"]
)
def test_checkmate_loses(moves: str, loser: int) -> None:
    match = load(moves)
    assert match.to_move() == ()
    assert match.returns()[loser] == -1.0
    assert match.returns()[1 - loser] == 1.0


def test_en_passant_is_for_the_next_move_only() -> None:
    opening = "e2e4 a7a6 e4e5 d7d5"
    assert "e5d6" in load(opening).legal_moves(1)
    assert "En passant square: d6." in load(opening).observe(1).text
    assert "e5d6" not in load(f"{opening} a2a3 a6a5").legal_moves(1)
    taken = load(f"{opening} e5d6")
    assert "5 . . . . . . . ." in taken.observe(0).text


def test_castling_moves_the_rook_and_ends_the_right() -> None:
    castled = load("e2e4 e7e5 g1f3 g8f6 f1c4 f8c5 e1g1 e8g8").observe(1).text
    assert "1 R N B Q . R K ." in castled
    assert "8 r n b q . r k ." in castled
    assert "Rights to castle: none." in castled
    ready = "e2e4 e7e5 g1f3 b8c6 f1c4 d7d6"
    assert "e1g1" in load(ready).legal_moves(1)
    back = load(f"{ready} h1g1 a7a6 g1h1 a6a5")
    assert "e1g1" not in back.legal_moves(1)
    assert "Rights to castle: e1c1 e8g8 e8c8." in back.observe(1).text
    kings = load("a2a4 a7a5 e2e4 e7e5 e1e2 e8e7 a1a2 a8a7")
    assert kings.observe(1, "compact").text.splitlines()[1] == "since e8e7 a1a2 a8a7"


def position(fen: str) -> tuple[bool, list[str], list[float]]:
    """Return whether the game is over, the legal moves and the returns."""
    state = CHESS.engine.new_initial_state(fen)
    seat = "bw".index(fen.split()[1])
    return state.is_terminal(), CHESS.name_moves(state, seat, state.legal_actions()), state.returns()


@pytest.mark.parametrize(
    ("rest", "over"),
    [
        ("8", True),
        ("N7", True),
        ("b7", True),
        ("B1b5", True),
        ("B1B1b3", True),
        ("Bb6", False),
        ("NN6", False),
        ("N1n5", False),
        ("BN6", False),
        ("P7", False),
        ("R7", False),
        ("q7", False),
    ],
)
def test_insufficient_material_is_a_draw(rest: str, over: bool) -> None:
    assert position(f"7k/8/8/{rest}/8/8/8/K7 w - - 0 60")[0] is over


def test_checkmate_precedes_the_fifty_move_draw() -> None:
    for quiet, last, returns in ((98, "a1b1", None), (99, "a1b1", [0.0, 0.0]), (99, "a1a8", [-1.0, 1.0])):
        state = CHESS.engine.new_initial_state(f"6k1/5ppp/8/8/8/8/8/R5K1 w - - {quiet} 80")
        legal = state.legal_actions()
        state.apply_action(legal[CHESS.name_moves(state, 1, legal).index(last)])
        assert state.is_terminal() is (returns is not None)
        assert returns is None or state.returns() == returns


def test_promotion_moves_name_the_piece() -> None:
    _, moves, _ = position("8/P6R/8/8/8/8/7k/K7 w - - 0 60")
    assert [move for move in moves if move.startswith("a7")] == ["a7a8r", "a7a8b", "a7a8n", "a7a8q"]
    assert "h7h8" in moves
    _, moves, _ = position("k7/8/8/8/8/8/p6r/2NQ3K b - - 0 60")
    assert [move for move in moves if move.startswith("a2")] == ["a2a1r", "a2a1b", "a2a1n", "a2a1q"]
    assert {"h2h1", "h2g2"} <= set(moves)


def test_irreversible_promotion_begins_the_move_list() -> None:
    line = "a2a4 b7b5 a4b5 a7a6 b5a6 c8b7 a6b7 g8f6 b7a8"
    for piece in "qn":
        match = load(f"{line}{piece} f6g8 g1f3")
        assert match.observe(0, "compact").text.splitlines()[1] == f"since b7a8{piece} f6g8 g1f3"
    rooks = load("h2h4 g7g5 h4g5 h7h6 g5h6 a7a6 h1h4 a6a5 h4g4 a5a4 g4g7 a4a3 g7g8")
    assert rooks.observe(0, "compact").text.splitlines()[1] == "since g7g8"


def test_threefold_repetition_ends_the_game() -> None:
    dance = "g1f3 g8f6 f3g1 f6g8"
    match = load(dance)
    assert "Times that this position has occurred: 2." in match.observe(0).text
    match = load(f"{dance} {dance}")
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)
    # the first time its king could castle, so this is another position
    kings = "e2e4 e7e5 e1e2 e8e7 e2e1 e7e8"
    assert "Times that this position has occurred: 1." in load(kings).observe(0).text


def test_views_include_the_move_history() -> None:
    one, other = "g1f3 g8f6 f3g1 f6g8 b1c3 b8c6", "b1c3 b8c6 c3b1 c6b8 b1c3 b8c6"
    first, second = load(one), load(other)
    assert str(first.state) == str(second.state)
    for seat in (0, 1):
        assert first.view(seat) != second.view(seat)
        for style in ("full", "compact"):
            assert first.observe(seat, style).text != second.observe(seat, style).text  # type: ignore[arg-type]


def test_match_length_stays_below_the_bound() -> None:
    """The bound rests on the limits in the prompt: 118 captures and pawn moves, with 100 moves for each."""
    assert CHESS.max_decisions == 118 * 100


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("e2e4", "move"),
        ("e2e5", "illegal"),
        ("a7a8q", "illegal"),
        ("e1g1", "illegal"),
        ("e4", "unparsable"),
        ("Nf3", "unparsable"),
        ("O-O", "unparsable"),
        ("a7a8k", "unparsable"),
        ("e2-e4", "unparsable"),
        ("i2i4", "unparsable"),
    ],
)
def test_replies_are_classified(reply: str, kind: str) -> None:
    match = CHESS.new(0)
    assert read_reply(reply, match.legal_moves(1), READERS["move"], CHESS.move_pattern).kind == kind
    if kind != "move":
        with pytest.raises(IllegalMove):
            match.apply({1: reply})
