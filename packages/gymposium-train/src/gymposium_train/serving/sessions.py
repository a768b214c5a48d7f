"""The sessions of the service, on disk and in memory. Independent of HTTP.

A session is one run of an agent, and becomes one trajectory. Sessions with the same task form a group. State is saved
before it is acknowledged.
"""

from __future__ import annotations

import secrets
import time
from base64 import urlsafe_b64encode
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256

from gymposium.errors import GymposiumError, describe_error
from gymposium.runs.sessions import GroupRow, SessionRow, SessionsFile, SessionState
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.batching import RequestBatcher
from gymposium_agents.serving.session import Session
from gymposium_agents.serving.turns import ServedTurn
from gymposium_train.serving.bodies import TRAIN, BeginRequest, EndRequest
from gymposium_train.serving.errors import Busy, Conflict, Gone, NotFound, NotReady, WrongField, WrongKey
from gymposium_train.serving.groups import TOO_OLD, make_unused_key, settle_group
from gymposium_train.serving.learner import ServedLearner
from gymposium_train.serving.settings import SessionSettings
from gymposium_train.serving.trajectories import list_turns, make_turn_row

ACTIVE = 2.0
"""Seconds after a request during which a session is expected to send another."""
MOST_CLIENTS = 100
"""Maximum number of clients in the status."""


@dataclass(slots=True)
class _OpenSession:
    """An open session in memory."""

    row: SessionRow
    session: Session


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun."""

    row: SessionRow
    secret: str
    """The secret in the session's address. It gives access only to the session's completions."""
    key: str
    """The key for ending the session, for the program that gives the reward."""
    seed: int
    """The seed of the session's task. All sessions of a group share it, unless a request gives another."""


@dataclass(slots=True)
class Sessions:
    """The sessions of one run."""

    file: SessionsFile
    learner: ServedLearner
    settings: SessionSettings
    seed: int
    group_size: int
    """Default size of a group."""
    needs_groups: bool = False
    """Whether sessions are compared within their group, so that a single session teaches nothing."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of requests by how their prompts begin, and number of requests answered again."""
    differences: Counter[str] = field(default_factory=Counter)
    """Number of requests whose past replies the client had changed, by changed field."""
    overridden: Counter[str] = field(default_factory=Counter)
    """Number of requests whose fields the run overrode, by field."""
    clients: dict[str, float] = field(default_factory=dict)
    """Time of each client's last request, by client name, latest last. At most `MOST_CLIENTS`."""
    _open: dict[str, _OpenSession] = field(default_factory=dict)
    """Open sessions by the digest of their secret."""
    _batches: dict[int, RequestBatcher] = field(default_factory=dict)
    """The batches of each engine, by the engine's `id`."""

    @property
    def least_members(self) -> int:
        """The minimum size of a group that teaches something."""
        return 2 if self.needs_groups else 1

    def begin(self, asked: BeginRequest, client: str) -> NewSession:
        """Begin a session. Raises `ServiceError`."""
        if asked.group is None and asked.split == TRAIN and self.needs_groups:
            raise WrongField(
                "group",
                "this run compares sessions of the same task. Name a group for them, or create one with POST "
                "/v1/groups.",
            )
        with self.learner.change():
            self.learner.check_unfinished()
            player = self.learner.newest()
            self.expire()
            counts = self.file.counts()
            if counts["sessions"].get("open", 0) >= self.settings.most_sessions:
                raise Busy(
                    f"{quantity(self.settings.most_sessions, 'session is', 'sessions are')} "
                    f"open, which is the maximum. End some first."
                )
            if counts["groups"].get("complete", 0) >= self.settings.most_groups:
                raise Busy(
                    f"{self.settings.most_groups} groups are waiting for training. Begin a step with POST /v1/train."
                )
            key = asked.group or make_unused_key(self.file)
            group = self.file.group(key)
            member = self._assign_member(group, key, asked)
            own = stream(self.seed, "session", key, member, asked.seed or 0).getrandbits(48)
            task = stream(self.seed, "task", key).getrandbits(31) if asked.seed is None else asked.seed
            key_to_end, now = secrets.token_urlsafe(24), time.time()
            secret = _hash_key(key_to_end)
            policy = player.current_policy
            row = SessionRow(
                id=f"s-{secrets.token_hex(8)}",
                secret=_hash_secret(secret),
                group=key,
                member=member,
                seed=own,
                metadata=asked.metadata,
                client=client,
                policy=policy.name,
                version=policy.version,
                step=self.learner.find_step(policy),
                began=now,
                seen=now,
                state="open",
                why="",
                ending=None,
            )
            with self.file.change():
                if group is None:
                    self.file.add_group(key, 1 if asked.group is None else self.group_size, asked.split)
                self.file.add_session(row)
            self._note_request(client, now)
        return NewSession(row, secret, key_to_end, task)

    def _assign_member(self, group: GroupRow | None, key: str, asked: BeginRequest) -> int:
        """Return the number that a new session gets in its group."""
        if group is None:
            size, taken = self.group_size, dict[int, SessionRow]()
        else:
            if group.state != "open":
                raise Conflict(
                    f"The group {key!r} is {group.state}, so no session can be added. Name another group.", "group"
                )
            if group.split != asked.split:
                raise Conflict(
                    f"The group {key!r} belongs to the split {group.split!r}, not {asked.split!r}. Name another group.",
                    "split",
                )
            rows = self.file.sessions(key)
            size, taken = group.size, {row.member: row for row in rows if row.state in ("open", "ended")}
        member = next((n for n in range(size) if n not in taken), size) if asked.member is None else asked.member
        if member >= size:
            raise Conflict(f"All {size} members of the group {key!r} have begun. Name another group.", "group")
        if (row := taken.get(member)) is not None:
            if row.state == "ended" or self.file.count_turns(row.id):
                raise Conflict(
                    f"Member {member} of the group {key!r} is already session {row.id}, which is {row.state}. Name "
                    "another member.",
                    "member",
                )
            self.file.set_session(row.id, "dropped", why="it was begun again")  # its client did not get the answer
            self._open.pop(row.secret, None)
        return member

    def answering(self, secret: str, client: str) -> Session:
        """Return the open session with this secret, to answer the client's requests. Raises `NotFound`, `Gone`, and
        `NotReady` if its policy is not ready, for example after a restart. Drops a session whose saved turns are
        malformed."""
        with self.learner.change():
            digest = _hash_secret(secret)
            opened = self._open.get(digest)
            row = self._find_open_row(digest) if opened is None else opened.row
            self._note_request(client, time.time())
            player = self._make_player(row)
            if opened is None:
                try:
                    opened = self._open[digest] = self._reopen_session(row, player)
                except (ArithmeticError, AttributeError, GymposiumError, LookupError, TypeError, ValueError) as error:
                    self._leave_out(row, "dropped", f"its turns are malformed: {describe_error(error)}")
                    raise Gone("The saved turns of this session are malformed. Begin another session.") from None
        return opened.session

    def _note_request(self, client: str, now: float) -> None:
        """Note the time of a client's request, and forget the oldest client if there are too many."""
        self.clients.pop(client, None)
        self.clients[client] = now
        if len(self.clients) > MOST_CLIENTS:
            del self.clients[next(iter(self.clients))]

    def _find_open_row(self, digest: str) -> SessionRow:
        """Return the open session whose secret has this digest."""
        row = self.file.find_by_secret(digest)
        if row is None:
            raise NotFound("Session not found. Begin one with POST /v1/sessions.")
        if row.state != "open":
            raise _make_over_error(row)
        return row

    def _make_player(self, row: SessionRow) -> LanguageModelPlayer:
        """Return the player of the policy that a session began with. Drops the session if the policy is too old."""
        newest, policy = self.learner.newest(), Policy(row.policy, row.version)
        try:
            return self.learner.policies.recent(policy)
        except GymposiumError:
            if policy.version > newest.current_policy.version:
                raise NotReady("The run is relearning this session's policy after a restart. Try again soon.") from None
            self._leave_out(row, "dropped", TOO_OLD)
            raise Gone("The policy of this session is too old to learn from. Begin another session.") from None

    def check_key(self, name: str, key: str) -> None:
        """Raise `WrongKey` unless this is the key for ending or deleting the session."""
        if not secrets.compare_digest(_hash_secret(_hash_key(key)), self._find_session(name).secret):
            raise WrongKey(
                "Ending a session needs its key. Send the key from POST /v1/sessions in the header X-Gymposium-Key. "
                "The session's address is not enough."
            )

    def end(self, name: str, asked: EndRequest) -> SessionRow:
        """End a session with its reward. Ending it again with the same values does nothing. Raises `Conflict` for other
        values, and while a reply is being sampled."""
        with self.learner.change():
            row = self._find_session(name)
            data = asked.as_data()
            if row.state == "ended" and row.ending == data:
                return row
            if row.state == "ended":
                raise Conflict(
                    f"The session {name[:80]!r} was ended with other values, which cannot be changed. Repeat those, or "
                    "begin another session."
                )
            if row.state != "open":
                raise _make_over_error(row)
            opened = self._open.get(row.secret)
            if opened is not None and opened.session.busy:
                raise Conflict(
                    f"A reply of the session {name[:80]!r} is being sampled. Wait for it, then end the session."
                )
            turns = self.file.count_turns(name)
            if asked.turn_rewards is not None and len(asked.turn_rewards) != turns:
                raise Conflict(
                    f"turn_rewards: give {turns} numbers, one per reply, not {len(asked.turn_rewards)}.",
                    "turn_rewards",
                )
            others = (other.ending for other in self.file.sessions(row.group) if other.ending is not None)
            parts = (next(others, None) or {}).get("parts")
            if isinstance(parts, dict) and parts.keys() != asked.parts.keys():
                names = ", ".join(sorted(parts)) or "none"
                raise Conflict(
                    f"parts: all sessions of a group must have the same names: {names}. Given: "
                    f"{', '.join(sorted(asked.parts)) or 'none'}.",
                    "parts",
                )
            with self.file.change():
                self.file.set_session(name, "ended", ending=data)
                settle_group(self.file, row.group)
            self._open.pop(row.secret, None)
        return self._find_session(name)

    def drop(self, name: str, why: str = "the client deleted it") -> SessionRow:
        """Drop a session, for example because a tool of the agent failed. Raises `Conflict` if it has ended."""
        with self.learner.change():
            row = self._find_session(name)
            if row.state == "ended":
                raise Conflict(
                    f"The session {name[:80]!r} has ended, so it cannot be dropped. Drop only open sessions."
                )
            if row.state == "open":
                self._leave_out(row, "dropped", why)
        return self._find_session(name)

    def _leave_out(self, row: SessionRow, state: SessionState, why: str) -> None:
        with self.learner.change():
            with self.file.change():
                self.file.set_session(row.id, state, why=why)
                settle_group(self.file, row.group)
            self._open.pop(row.secret, None)

    def expire(self) -> None:
        """Expire open sessions that have been silent for too long."""
        for row in self.file.list_idle_sessions(time.time() - self.settings.expires):
            opened = self._open.get(row.secret)
            if opened is None or not opened.session.busy:
                self._leave_out(row, "expired", f"there was no request for {self.settings.expires:g} seconds")

    def _find_session(self, name: str) -> SessionRow:
        row = self.file.session(name)
        if row is None:
            raise NotFound(f"Unknown session {name[:80]!r}. Begin one with POST /v1/sessions.")
        return row

    def _reopen_session(self, row: SessionRow, player: LanguageModelPlayer) -> _OpenSession:
        """Reopen a session in memory, with the turns on disk."""

        def keep_turn(turn: ServedTurn) -> None:
            pieces = player.chat.pieces(turn.tokens.completion.ids)
            self.file.add_turn(row.id, make_turn_row(turn, session.turns, pieces), time.time())
            if turn.differs:
                self.differences[turn.differs] += 1
            self.overridden.update(turn.overridden)
            self.learner.tell()

        submit, turns = self._make_batches(player.engine).submit, list_turns(row, self.file.turns(row.id))
        session = Session(player, submit, row.seed, name=row.id, keep=keep_turn, counts=self.counts, turns=turns)
        return _OpenSession(row, session)

    def _make_batches(self, engine: TokenEngine) -> RequestBatcher:
        if id(engine) not in self._batches:
            self._batches[id(engine)] = RequestBatcher(engine, self._count_expected)
        return self._batches[id(engine)]

    def _count_expected(self) -> int:
        """Return the number of sessions that sent a request recently and may soon send another."""
        since = time.monotonic() - ACTIVE
        return sum(opened.session.asked_at > since for opened in [*self._open.values()])

    def requests_per_batch(self) -> float | None:
        """Return the engines' mean number of requests per batch, or None before the first batch."""
        batches = sum(one.batches for one in self._batches.values())
        return sum(one.requests for one in self._batches.values()) / batches if batches else None

    def close(self) -> None:
        """End the engines' threads."""
        for batches in self._batches.values():
            batches.close()


def _make_over_error(row: SessionRow) -> Gone:
    """Return the error for a request to a session that is not open."""
    how = {"ended": "has ended", "expired": "has expired"}.get(row.state, f"was {row.state}")
    return Gone(f"This session {how}{f': {row.why}' if row.why else ''}. Begin another.")


def _hash_key(key: str) -> str:
    """Return the secret in a session's address. It is a hash of the key, so it does not reveal the key."""
    return urlsafe_b64encode(sha256(f"address/{key}".encode()).digest()[:24]).decode()


def _hash_secret(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
