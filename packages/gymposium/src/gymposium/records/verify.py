"""Playing records again: what in them does not follow from their events and seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gymposium.driver import open_match
from gymposium.ending import OVER, Ending
from gymposium.errors import BadRecord, GymposiumError
from gymposium.failures import FailurePolicy, Tally, forfeit_returns, forfeited
from gymposium.games.protocol import CHANCE, Game, Match, Reports, seat_result
from gymposium.games.registry import load_named_game, needs_isolation
from gymposium.isolated import CallFailed, isolated
from gymposium.prompt import PROMPT_VERSION, prompt_for
from gymposium.reading import read, read_action, reader
from gymposium.records.files import Problem, no_records, read_records
from gymposium.records.record import Record


@dataclass(slots=True)
class Verification:
    """What `verify` found in a file."""

    matches: int = 0
    """Records that were played again."""
    not_played: int = 0
    """Records that could not be: their game is not there, or not in their version."""
    problems: list[Problem] = field(default_factory=list)


def verify_file(path: str | Path) -> Verification:
    """Play every record again; each broken or differing one gives one problem, its first difference, and a file that
    holds no record at all gives one."""
    found = Verification()
    for number, record in read_records(path):
        if isinstance(record, Problem):
            found.problems.append(record)
            continue
        played, difference = _checked(record)
        found.matches += played
        found.not_played += not played
        if difference is not None:
            found.problems.append(Problem(f"{path}:{number} (match {record.id})", difference))
    if not found.matches + found.not_played:
        found.problems = [no_records(path, found.problems)]
    return found


def first_difference(record: Record) -> str | None:
    """The first thing in a record that does not follow from its events and seeds, or None.

    Two facts are checked apart: that the events make a legal match with these returns, and that the
    seed draws the same chance."""
    return _checked(record)[1]


def _checked(record: Record) -> tuple[bool, str | None]:
    """Whether it could be played again, and its first difference."""
    if not needs_isolation(record.game):
        return _play_again(record)
    try:
        return isolated(_play_again, record)
    except CallFailed as error:
        return False, str(error)


def _play_again(record: Record) -> tuple[bool, str | None]:
    try:
        game = _same_game(record)
    except GymposiumError as error:
        return False, str(error)
    try:
        return True, _difference(game, record)
    except Exception as error:  # noqa: BLE001 - whatever an engine may raise at a stranger's record
        return True, f"{type(error).__name__}: {error}"


def _same_game(record: Record) -> Game:
    """The game that the record is of. Raises `BadRecord` where only another version is here."""
    game = load_named_game(record.game)
    if game.spec.version != record.game_version:
        raise BadRecord(f"made with version {record.game_version} of the game; this is version {game.spec.version}")
    return game


def _difference(game: Game, record: Record) -> str | None:
    try:
        match = game.load(record.events, record.seed)
        wrong = (
            _wrong_seats(game, record)
            or _wrong_prompts(game, record)
            or _extra_event(match, record)
            or _wrong_chance(game, record)
            or _wrong_opening(game, record)
        )
        if record.ending.broke_off:
            # only what came before can be held against the rules: the next step may fail again
            return wrong or f"the match broke off: {record.ending.detail}"
        return (
            wrong
            or _wrong_end(match, record)
            or _wrong_turns(game, record)
            or _wrong_returns(match, record)
            or _wrong_reports(match, record)
        )
    except GymposiumError as error:
        return str(error)


def _wrong_seats(game: Game, record: Record) -> str | None:
    ended = () if record.ending.broke_off else ("returns", "results")
    for name in ("players", "prompts", *ended):
        count = len(getattr(record, name))
        if count != game.seats:
            return f"{game.name} has {game.seats} seats, but there are {count} {name}"
    return None


def _wrong_prompts(game: Game, record: Record) -> str | None:
    """Make the fixed parts of the prompts again, where the wording is of the version that is here."""
    for seat, prompt in enumerate(record.prompts):
        if prompt["version"] == PROMPT_VERSION:
            made = prompt_for(game, prompt["style"], reader(prompt["reader"])).hash
            if made != prompt["hash"]:
                return f"prompt differs: seat {seat} read one of digest {prompt['hash']!r}, but the game's is {made!r}"
    return None


def _extra_event(match: Match, record: Record) -> str | None:
    if len(match.events) != len(record.events):
        return f"the record stops before a chance outcome ({len(record.events)} of {len(match.events)} events)"
    return None


def _wrong_end(match: Match, record: Record) -> str | None:
    loser = record.ending.seat
    if loser is None and match.to_move():
        return f"the record ends, but seats {list(match.to_move())} are to move"
    if loser is not None and loser not in match.to_move():
        return f"seat {loser} forfeits, but it is not to move"
    return None


def _wrong_opening(game: Game, record: Record) -> str | None:
    """Draw the opening again."""
    match, plies = open_match(game, record.seed, record.opening)
    if plies != record.opening:
        return f"the opening has {record.opening} plies, but the match would be over by then: it can have {plies}"
    for number, (mine, theirs) in enumerate(zip(match.events, record.events)):
        if mine != theirs:
            return f"event {number} is {theirs.move!r}, but the opening of seed {record.seed} has {mine.move!r}"
    if len(record.events) < len(match.events):
        return f"the record stops in the opening ({len(record.events)} of {len(match.events)} events)"
    return None


def _wrong_turns(game: Game, record: Record) -> str | None:
    """Hold every reply against what the driver does with it: who is asked, how the reply reads, what a
    failure costs, and which event comes of it. The seed is known by now to draw the record's chance and opening."""
    (match, _), tally = open_match(game, record.seed, record.opening), Tally(FailurePolicy.parse(record.on_illegal))
    readers = [reader(prompt["reader"]) for prompt in record.prompts]
    events = iter([event for event in record.events[len(match.events) :] if event.seat != CHANCE])
    turns = iter(enumerate(record.turns))
    left = Counter(turn["seat"] for turn in record.turns)
    silent = {failure.seat: failure for failure in record.ending.failures if failure.kind != "no legal move"}
    unheard: list[int] = []
    ending = OVER
    while ending is OVER and (seats := match.to_move()):
        tally.next_decision()
        moves: dict[int, str | None] = {}  # None: drawn at random by the policy
        asked: Sequence[int] = seats
        while asked and ending is OVER:
            again: list[int] = []
            failures: list[Ending] = []
            for seat in asked:
                if seat in silent and not left[seat]:
                    failures.append(silent[seat])
                    unheard.append(seat)
                    continue
                number, turn = next(turns, (-1, None))
                if turn is None:
                    return f"the replies end where seat {seat} is to give one"
                if turn["seat"] != seat:
                    return f"reply {number} is of seat {turn['seat']}, but seat {seat} is asked"
                left[seat] -= 1
                legal = match.legal_moves(seat)
                if (action := turn.get("action")) is not None:
                    reading = read_action(action, match.legal_actions(seat), legal)
                else:
                    cut_off = turn["reading"] == "cut off"
                    reading = read(turn["text"], legal, readers[seat], game.move_pattern, cut_off=cut_off)
                if reading.kind != turn["reading"]:
                    return f"reply {number} ({turn['text']!r}) is called {turn['reading']}, but it is {reading.kind}"
                if reading.kind == "move":
                    moves[seat] = reading.move
                    continue
                outcome = tally.failed(seat, can_draw=bool(legal))
                if outcome == "random":
                    moves[seat] = None
                elif outcome == "again":
                    again.append(seat)
                else:
                    failures.append(Ending("no legal move", seat))
            if failures:
                ending = forfeited([replace(failure, others=()) for failure in failures], record.player_seed)
            asked = again
        if ending is OVER:
            joint = {}
            for seat in seats:
                event = next(events, None)
                if event is None:
                    return f"seat {seat} replied with a move, but the events end before it"
                if moves[seat] is not None and event.move != moves[seat]:
                    return f"seat {seat} replied {moves[seat]!r}, but its event is {event.move!r}"
                joint[seat] = event.move
            match.apply(joint)
    if (extra := next(turns, None)) is not None:
        return f"reply {extra[0]} comes after the end of the match"
    if (late := next(events, None)) is not None:
        return f"seat {late.seat} moves {late.move!r} after the replies that ended the match"
    if silent.keys() != {*unheard}:
        return f"seats {[*silent]} are said to have given no reply, but it is seats {unheard} that gave none"
    if ending != record.ending:
        return f"the ending is {record.ending.in_words()!r}, but the replies make it {ending.in_words()!r}"
    penalties = {str(seat): cost for seat, cost in tally.penalties.items()}
    if penalties != record.penalties:
        return f"penalties are {record.penalties}, but the replies cost {penalties}"
    return None


def _wrong_returns(match: Match, record: Record) -> str | None:
    utilities: Sequence[float] = match.returns()
    if record.ending.seat is not None:
        utilities = forfeit_returns(match.game, record.ending.seat, utilities)
    returns = [u - record.penalties.get(str(seat), 0.0) for seat, u in enumerate(utilities)]
    if returns != list(record.returns):
        return f"returns are {list(record.returns)}, but the events give {returns}"
    results = [seat_result(utilities, seat, record.ending.seat) for seat in range(match.game.seats)]
    if results != record.results:
        return f"results are {record.results}, but the events give {results}"
    return None


def _wrong_reports(match: Match, record: Record) -> str | None:
    reports = []
    if isinstance(match, Reports) and record.ending.seat is None:
        reports = [dict(match.report(seat)) for seat in range(match.game.seats)]
    if reports != record.reports:
        return f"reports are {record.reports}, but the events give {reports}"
    return None


def _wrong_chance(game: Game, record: Record) -> str | None:
    """Play the seats' moves again from the seed and compare what chance does."""
    match = game.new(record.seed)
    moves = [event for event in record.events if event.seat != CHANCE]
    compared = 0
    while True:
        # before the next move, which may not even be legal where chance came out otherwise
        for number, (mine, theirs) in enumerate(zip(match.events[compared:], record.events[compared:]), compared):
            if mine != theirs:
                return f"event {number} is {theirs.move!r}, but seed {record.seed} gives {mine.move!r}"
        compared = len(match.events)
        seats = match.to_move()
        if not moves or not seats:
            return None
        now, moves = moves[: len(seats)], moves[len(seats) :]
        match.apply({event.seat: event.move for event in now})
