"""Chess as a text game. The engine's player 0 is Black, so seat 1 is White and moves first.

Moves use UCI notation: the source and target squares, and a letter for a promotion. Each move has exactly one UCI name.
In the alternative, SAN, a move has several common names (Nf3, Ngf3, Nf3+), and a strict parser accepts only one of
them. SAN also marks checkmate, and producing it takes the engine ten times as long as the rest of a turn.

The engine counts an en passant right whenever a pawn stands beside one that advanced two squares, even if that pawn is
pinned. Under the laws (FIDE 9.2.3), only a legal capture counts, and this module compares positions accordingly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.boards import describe_cells, describe_turn
from gymposium.games.pictures import Picture, draw_glyph, draw_grid, find_last_turn
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_COLORS = ("Black", "White")
_QUIET, _MAX_TIMES = 100, 3
"""Number of moves without a capture or pawn move until a draw, and number of occurrences of a position until a draw
(chess.cc)."""
_CASTLING = {"K": "e1g1", "Q": "e1c1", "k": "e8g8", "q": "e8c8"}
_ENDS = {"e1": "KQ", "h1": "K", "a1": "Q", "e8": "kq", "h8": "k", "a8": "q"}
"""Castling rights that a move from or to each square ends, in FEN letters."""
_PIECES = {
    name: draw_glyph(sign, color)
    for names, color in (("kqrbnp", "black"), ("KQRBNP", "white"))
    for name, sign in zip(names, "♚♛♜♝♞♟")
}
_TWO_SQUARES = re.compile(r"([a-h])(?:2\1[4]|7\1[5])")
_EMPTY = str.maketrans({str(n): "." * n for n in range(1, 9)})
_REPETITIONS = 13
"""Index of the tensor plane that encodes how often the position has occurred."""
_LONGEST = 11_800
"""Upper bound on a match's length (the engine says 17,695).

There are at most 118 captures and pawn moves: 96 pawn moves and 30 captures, and at least 8 moves are both. At most
99 other moves precede each of these, and 100 more follow the last."""

_RULES = f"""\
Chess. White (capital letters) and Black (small letters) have each a king (K, k), a queen (Q, q), two rooks (R, r), \
two bishops (B, b), two knights (N, n) and eight pawns (P, p). They take turns to move one of their pieces; White \
moves first.
A piece goes to a square that is empty or holds an opponent's piece, which is then captured and removed. A rook goes \
any number of squares along a row or column, a bishop along a diagonal, a queen along any of them; none of these may \
jump over a piece. A king goes one square in any direction. A knight goes two squares along a row or column and one to \
the side, and may jump.
A pawn goes one square straight forward (White up the board, Black down) if that is empty, or two from where it \
started if both are. It captures one square diagonally forward, and cannot capture otherwise. A pawn that has just \
gone two squares may be captured en passant, in the next move only: an opponent's pawn that could have captured it had \
it gone one square goes to the square that it passed over. A pawn that reaches the last row becomes a queen, rook, \
bishop or knight of its colour, as its player likes.
Castling: a king that has not moved goes two squares towards a rook that has not moved, and this rook to the square \
that the king passed over. All squares between them must be empty; the king may not be attacked, nor any square that \
it passes over or goes to. The right to castle with a rook is lost for good once it or the king has moved, or it was \
captured.
A king that is attacked is in check. No move may leave your own king in check. Who is in check and has no legal move \
is checkmated and loses. Who is not in check and has none is stalemated: a draw. It is also a draw, at once and \
without a claim,
- when a position occurs {_MAX_TIMES} times: the same pieces on the same squares, the same player to move, the same \
rights to castle and the same legal captures en passant;
- after {_QUIET} moves in a row, counting both players', without a capture or a pawn move, unless the last gives \
checkmate;
- when what is left cannot checkmate: besides the kings nothing, one knight, or only bishops that all stand on squares \
of one colour.
{describe_cells(8, 8)}: a1 is bottom left. An \
empty square is shown as a dot. A move is written as the square that the piece leaves and the square that it goes to, \
whether or not it captures: g1f3. Castling is written as the king's move: e1g1. A promotion has the letter of the new \
piece behind it (q, r, b or n): a7a8q.
"""


class Chess:
    """Wording for `chess`."""

    move_pattern = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")
    names = None

    def __init__(self, engine: pyspiel.Game) -> None:
        white = engine.new_initial_state()
        black = white.child(white.string_to_action("Nf3"))
        # On these boards, any piece's move from a pawn's seventh row to its eighth gets the pawn's name: a7a8q.
        self._names = [
            [pyspiel.chess.action_to_move(action, board).to_lan() for action in range(engine.num_distinct_actions())]
            for board in (black.board(), white.board())
        ]
        self._ends = [
            {
                action: ends
                for action, name in enumerate(names)
                if (ends := _ENDS.get(name[:2], "") + _ENDS.get(name[2:4], ""))
            }
            for names in self._names
        ]

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        names = [self._names[seat][action] for action in actions]
        # Queen promotion has the same action as another piece's plain move between these squares.
        if "q" not in [name[4:] for name in names]:
            return names
        board, move = state.board(), pyspiel.chess.action_to_move
        return [str(move(a, board).to_lan()) if name[4:] == "q" else name for a, name in zip(actions, names)]

    def rules(self, seat: int, style: Style) -> str:
        color = _COLORS[seat]
        if style == "compact":
            return (
                f"chess, you are {color}; the position as FEN, and the moves since the last capture, pawn move or "
                f"lost right to castle, with it; a move is from, to and the letter of a promotion (UCI); draw "
                f"when a position occurs {_MAX_TIMES} times, or after {_QUIET} moves of both players without "
                f"capture or "
                f"pawn move\n"
            )
        return f"{_RULES}You play {color} and move {('second', 'first')[seat]}, {('down', 'up')[seat]} the board.\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        fen, times = self.format_fen(state), self.count_repetitions(state)
        since = " ".join(self.list_reversible_moves(state))
        if style == "compact":
            legal = " ".join(self.moves(state, seat, [] if times >= _MAX_TIMES else state.legal_actions(seat)))
            return f"{fen}\nsince {since or 'none'}\nlegal {legal or 'none'}\n"
        board, _, rights, passed, quiet, number = fen.split()
        rows = [" ".join(row) for row in board.translate(_EMPTY).split("/")]
        drawn = "\n".join([f"{8 - i} {row}" for i, row in enumerate(rows)])
        over = f" The game is over: {_describe_result(state)}." if state.is_terminal() or times >= _MAX_TIMES else ""
        turn = "" if over else describe_turn(state, seat)
        return (
            f"You are {_COLORS[seat]}{turn}.{over} Move {number}. The board:\n{drawn}\n"
            f"  a b c d e f g h\n"
            f"Rights to castle: {' '.join([_CASTLING[right] for right in rights if right != '-']) or 'none'}. "
            f"En passant square: {passed if passed != '-' else 'none'}. "
            f"Moves without capture or pawn move: {quiet}. Times that this position has occurred: {times}.\n"
            f"Moves since the last capture, pawn move or lost right to castle, with it, or since the start: "
            f"{since or 'none'}.\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        fen = self.format_fen(state)
        rows = fen.split()[0].translate(_EMPTY).split("/")
        board = draw_grid(
            rows,
            _PIECES,
            row_names="87654321",
            column_names="abcdefgh",
            checkered=True,
            last=find_last_turn(events),
        )
        return Picture.from_parts(board, told=f"The position as FEN: {fen}")

    def format_fen(self, state: pyspiel.State) -> str:
        """Return the position as FEN, with an en passant square only if that capture is legal."""
        board, player, rights, passed, *counts = state.observation_string(0).split()
        if passed != "-" and not self._can_capture(state, passed):
            passed = "-"
        return " ".join([board, player, rights, passed, *counts])

    def _can_capture(self, state: pyspiel.State, passed: str) -> bool:
        """Return whether a pawn may capture en passant on this square."""
        seat = state.current_player()
        if seat < 0:
            return False
        row = "45"[seat]
        pawns = {f"{column}{row}{passed}" for column in "abcdefgh" if abs(ord(column) - ord(passed[0])) == 1}
        board = state.board()
        return any(
            self._names[seat][action] in pawns
            and pyspiel.chess.action_to_move(action, board).piece.type == pyspiel.chess.PieceType.PAWN
            for action in state.legal_actions()
        )

    def count_repetitions(self, state: pyspiel.State) -> int:
        """Return how many times the position has occurred.

        The engine misses one case: the position after a pawn advanced two squares past another pawn that could not
        capture it. No position before a pawn move can recur."""
        times: int = state.num_repetitions(state)
        now = state.observation_string(0).split()
        quiet, past = int(now[4]), state.history()
        if quiet < 4 or quiet % 2 or len(past) < quiet + 1:
            return times
        start = len(past) - quiet
        if not _TWO_SQUARES.fullmatch(self._names[start % 2][past[start - 1]]):
            return times
        then = state.get_game().new_initial_state(state.start_fen())
        for action in past[:start]:
            then.apply_action(action)
        before = then.observation_string(0).split()
        return times + (before[:3] == now[:3] and before[3] != now[3] and not self._can_capture(then, before[3]))

    def list_reversible_moves(self, state: pyspiel.State) -> list[str]:
        """Return the last irreversible move and all moves since. No position before it can recur.

        The first move shows whether there was an en passant square."""
        history = state.history()
        quiet = int(state.observation_string(0).split()[4])
        start, rights = max(len(history) - quiet - 1, 0), set(_CASTLING)
        for turn, action in enumerate(history):
            if not rights:
                break
            lost = self._ends[1 - turn % 2].get(action)
            if lost and not rights.isdisjoint(lost):
                rights.difference_update(lost)
                start = max(start, turn)
        moves = [self._names[1 - turn % 2][action] for turn, action in enumerate(history[start:], start)]
        if moves and moves[0][4:] == "q":
            moves[0] = state.moves_history()[start].to_lan()
        return moves[:1] + [move[:4] for move in moves[1:]]  # only the first can be a promotion


def _describe_result(state: pyspiel.State) -> str:
    for seat, value in enumerate(state.returns()):
        if value < 0:
            return f"{_COLORS[seat]} is checkmated"
    return "a draw"


class ChessGame(OpenSpielGame):
    """Chess whose view includes earlier positions.

    The engine's view omits them, and its count of repetitions is wrong."""

    wording: Chess

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Chess) -> None:
        super().__init__(spec, params, engine, words)
        self.max_decisions = _LONGEST

    def player(self, state: pyspiel.State) -> int:
        return (
            super().player(state) if self.wording.count_repetitions(state) < _MAX_TIMES else pyspiel.PlayerId.TERMINAL
        )

    def legal(self, state: pyspiel.State, seat: int) -> list[int]:
        return super().legal(state, seat) if self.wording.count_repetitions(state) < _MAX_TIMES else []

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{self.wording.format_fen(state)} {' '.join(self.wording.list_reversible_moves(state))}"

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        values, (_, rows, columns) = super().make_tensor(state, seat), self.tensor_shape or ()
        plane, squares = _REPETITIONS, rows * columns
        times = self.wording.count_repetitions(state)
        values[plane * squares : (plane + 1) * squares] = [(times - 1) / (_MAX_TIMES - 1)] * squares
        return values

    def notation(self, events: Sequence[Event]) -> list[str]:
        """Return the moves in standard algebraic notation."""
        match, written = self.begin(None), list[str]()
        for event in events:
            moves, actions = match.legal_moves(event.seat), match.legal_actions(event.seat)
            written.append(match.state.action_to_string(event.seat, actions[moves.index(event.move)]))
            match.apply({event.seat: event.move})
        return written


game = make_openspiel_factory("chess", Chess, ChessGame)
