"""Connections between TextArena and gymposium: games, agents, players and episodes, in both directions."""

from gymposium_textarena.agent import TextArenaAgent
from gymposium_textarena.env import GymposiumEnv, register_games
from gymposium_textarena.episodes import Episode, read_episodes
from gymposium_textarena.player import TextArenaPlayer
from gymposium_textarena.recorded import RecordedEnv
from gymposium_textarena.replaying import ReplayedEpisode, replay_episodes

__all__ = [
    "Episode",
    "GymposiumEnv",
    "RecordedEnv",
    "ReplayedEpisode",
    "TextArenaAgent",
    "TextArenaPlayer",
    "read_episodes",
    "register_games",
    "replay_episodes",
]
