"""Chess against python-chess: random games, and positions made for what may be misjudged.

`GYMPOSIUM_SEEDS` is the number of random games, 10 by default."""

from __future__ import annotations

import os
import random

import chess
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch

CHESS: OpenSpielGame = load_game("chess")  # type: ignore[assignment]
SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "10"))


def check(match: OpenSpielMatch, board: chess.Board) -> bool:
    """Compare a position with python-chess. Returns whether the game is over."""
    outcome = board.outcome()
    over = outcome is not None or board.is_repetition(3) or board.halfmove_clock >= 100
    assert (match.to_move() == ()) == over
    seat = int(board.turn)
    legal = [] if over else sorted(move.uci() for move in board.legal_moves)
    assert match.to_move() == (() if over else (seat,))
    assert sorted(match.legal_moves(seat)) == legal
    assert match.legal_moves(1 - seat) == []
    if outcome is not None and outcome.winner is not None:
        assert match.returns() == ((-1.0, 1.0) if outcome.winner else (1.0, -1.0))
    else:
        assert match.returns() == (0.0, 0.0)
    fen, *_ = match.observe(seat, "compact").text.splitlines()
    assert fen == board.fen(en_passant="legal")
    assert f"Times that this position has occurred: {times(board)}." in match.observe(seat).text
    return over


def times(board: chess.Board) -> int:
    return next(n for n in range(1, 9) if not board.is_repetition(n + 1))


def position(board: chess.Board) -> OpenSpielMatch:
    """Return a match that starts at a position with White to move."""
    assert board.turn == chess.WHITE
    return OpenSpielMatch(CHESS, CHESS.engine.new_initial_state(board.fen()), [], None, None)


def go(match: OpenSpielMatch, board: chess.Board, *moves: str) -> bool:
    """Play moves in both, with a comparison after each. Returns whether the game is over."""
    over = False
    for move in moves:
        assert not over
        match.apply({int(board.turn): move})
        board.push_uci(move)
        over = check(match, board)
    return over


def liked(board: chess.Board, rng: random.Random) -> chess.Move:
    """Draw a random move, with a preference for what is rare: double steps, captures, checks, and moves back."""
    moves = list(board.legal_moves)
    kind = rng.random()
    if kind < 0.15:
        moves = [m for m in moves if board.is_en_passant(m) or board.is_castling(m) or m.promotion] or moves
    elif kind < 0.35:
        doubles = [m for m in moves if board.piece_type_at(m.from_square) == chess.PAWN]
        moves = [m for m in doubles if abs(m.from_square - m.to_square) == 16] or moves
    elif kind < 0.65 and len(board.move_stack) > 1:
        last = board.move_stack[-2]
        moves = [m for m in moves if (m.from_square, m.to_square) == (last.to_square, last.from_square)] or moves
    elif kind < 0.7:
        moves = [m for m in moves if board.gives_check(m)] or moves
    return rng.choice(moves)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_games_match_python_chess(seed: int) -> None:
    rng = random.Random(seed)
    match, board = CHESS.begin(0), chess.Board()
    while not check(match, board):
        move = liked(board, rng)
        match.apply({int(board.turn): move.uci()})
        board.push(move)


def test_pinned_pawn_has_no_en_passant_right() -> None:
    match, board = CHESS.begin(0), chess.Board()
    dance = "g8f6 g1f3 f6g8 f3g1".split()
    assert go(match, board, *"e2e4 f7f5 e4f5 e7e5 d1e2 e5e4 d2d4".split(), *dance, *dance)
    assert board.is_repetition(3)
    assert match.tensor(0)[13].max() == match.tensor(0)[13].min() == 1.0


DOUBLE_STEPS = {
    "pinned on the file": ("4k3/8/8/8/4p3/8/3PQ3/4K3", "e8f8 e1f1 f8e8 f1e1", 3),
    "pinned on a diagonal": ("8/8/2k5/8/4p3/8/3P2B1/K7", "c6b6 a1b1 b6c6 b1a1", 3),
    "captures along the pin": ("8/8/6k1/8/4p3/8/2BP4/K7", "g6g7 a1b1 g7g6 b1a1", 2),
    "both pawns leave the rank": ("8/8/8/8/R3p2k/8/3P4/K7", "h4g4 a1b1 g4h4 b1a1", 3),
    "one of two stays on the rank": ("8/8/8/8/R1p1p2k/8/3P4/K7", "h4g4 a1b1 g4h4 b1a1", 2),
    "the other of two is free": ("4k3/8/8/8/2p1p3/8/3PQ3/4K3", "e8f8 e1f1 f8e8 f1e1", 2),
    "both are pinned": ("8/8/4k3/8/2p1p3/8/B2P4/K3R3", "e6d6 a1b1 d6e6 b1a1", 3),
    "the capture does not answer the check": ("8/8/7k/8/4p3/8/3P4/K1B5", "h6h5 c1b2 h5h6 b2c1", 3),
    "free": ("4k3/8/8/8/4p3/8/3P4/4K3", "e8f8 e1f1 f8e8 f1e1", 2),
    "nobody beside": ("4k3/8/8/8/6p1/8/3P4/4K3", "e8f8 e1f1 f8e8 f1e1", 3),
}
"""Positions in which d2d4 passes a pawn, moves that bring the position back, and its count after two rounds of them."""


@pytest.mark.parametrize(("fen", "dance", "count"), DOUBLE_STEPS.values(), ids=DOUBLE_STEPS)
@pytest.mark.parametrize("mirrored", [False, True], ids=["white", "black"])
def test_double_steps_match_python_chess(fen: str, dance: str, count: int, mirrored: bool) -> None:
    board, moves = chess.Board(f"{fen} w - - 0 1"), ["d2d4", *dance.split(), *dance.split()]
    if mirrored:
        board, first = one_move_earlier(board.mirror())
        moves = [first, *map(mirror, moves)]
    match = position(board)
    over = go(match, board, *moves)
    assert over == (count == 3)
    assert times(board) == count


def mirror(move: str) -> str:
    return "".join(str(9 - int(letter)) if letter.isdigit() else letter for letter in move)


def one_move_earlier(board: chess.Board) -> tuple[chess.Board, str]:
    """Return a position with White to move in which a move of the king leads to this one."""
    king = board.king(chess.WHITE)
    assert king is not None
    for square in chess.SquareSet(chess.BB_KING_ATTACKS[king]):
        earlier = board.copy(stack=False)
        earlier.remove_piece_at(king)
        if earlier.piece_at(square) is None:
            earlier.set_piece_at(square, chess.Piece(chess.KING, chess.WHITE))
            earlier.turn = chess.WHITE
            move = chess.Move(square, king)
            if earlier.is_valid() and earlier.is_legal(move):
                return earlier, move.uci()
    raise AssertionError(f"no move leads to {board.fen()}")


def random_double_step(rng: random.Random) -> chess.Board | None:
    """Return a random position in which a pawn of White can pass one or two pawns of Black, with lines that may pin."""
    board = chess.Board.empty()
    file = rng.randrange(8)
    board.set_piece_at(chess.square(file, 1), chess.Piece(chess.PAWN, chess.WHITE))
    for near in rng.sample([f for f in (file - 1, file + 1) if 0 <= f < 8], 1 if file in (0, 7) else rng.randint(1, 2)):
        board.set_piece_at(chess.square(near, 3), chess.Piece(chess.PAWN, chess.BLACK))
    free = [s for s in chess.SQUARES if board.piece_at(s) is None and s not in (16 + file, 24 + file)]
    pieces = ["K", "k", *rng.choices("QRBN", k=rng.randint(1, 3)), *rng.choices("nrb", k=rng.randint(0, 1))]
    for square, piece in zip(rng.sample(free, len(pieces)), pieces):
        board.set_piece_at(square, chess.Piece.from_symbol(piece))
    return board if board.is_valid() and board.is_legal(chess.Move(8 + file, 24 + file)) else None


def returning(board: chess.Board, rng: random.Random) -> list[str]:
    """Return four random moves that lead back to the position, or []."""
    for _ in range(20):
        trial, moves = board.copy(), list[chess.Move]()
        while len(moves) < 4:
            quiet = [
                m for m in trial.legal_moves if not trial.is_capture(m) and trial.piece_type_at(m.from_square) != 1
            ]
            if len(moves) > 1:
                back = chess.Move(moves[-2].to_square, moves[-2].from_square)
                quiet = [back] if back in quiet else []
            if not quiet:
                break
            moves.append(rng.choice(quiet))
            trial.push(moves[-1])
        else:
            return [move.uci() for move in moves]
    return []


def test_random_double_steps_match_python_chess() -> None:
    rng, legal = random.Random(0), [0, 0]
    for _ in range(10_000):
        board = random_double_step(rng)
        if board is None:
            continue
        [pawn] = board.pieces(chess.PAWN, chess.WHITE)
        step, after = chess.Move(pawn, pawn + 16), board.copy()
        after.push(step)
        may = after.has_legal_en_passant()
        if legal[may] >= 8:
            continue
        legal[may] += 1
        match = position(board)
        if go(match, board, step.uci()):
            continue
        dance = returning(board, rng)
        if dance and not go(match, board, *dance):
            go(match, board, *dance)
    assert legal == [8, 8]


PERFT = {
    "castling and pins": "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "en passant on the rank": "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "promotions": "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "promotion with a capture": "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "castling through check": "r3k2r/8/8/8/4r3/8/8/R3K2R w KQkq - 0 1",
    "castling past an attacked b1": "1r2k3/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "castling over f1": "4kr2/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "castling into check": "4k1r1/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "double check": "4k3/8/8/8/1b6/4r3/8/4K1N1 w - - 0 1",
    "stalemate": "7k/8/6Q1/8/8/8/8/K7 w - - 0 1",
    "stalemate with pawns": "8/8/8/8/8/p1k5/P7/K7 w - - 0 1",
    "the last capture leaves too little": "7k/8/8/8/8/2b5/8/K1N5 w - - 0 1",
    "opposite bishops": "7k/8/8/2b5/8/8/8/KB6 w - - 0 1",
    "the hundredth quiet move": "6k1/5ppp/8/8/8/8/8/R5K1 w - - 99 80",
}


@pytest.mark.parametrize("fen", PERFT.values(), ids=PERFT)
def test_moves_two_plies_deep_match_python_chess(fen: str) -> None:
    board = chess.Board(fen)
    match = position(board)
    check(match, board)
    for move in board.legal_moves:
        child, after = match.fork(random.Random(0)), board.copy()
        assert isinstance(child, OpenSpielMatch)
        go(child, after, move.uci())
