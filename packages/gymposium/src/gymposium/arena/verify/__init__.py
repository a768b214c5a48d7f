"""Verification: what of a board follows from its suite, its entries and their seeds, and what is somebody's word.

Every match is played again along its record, by the driver that played it, with the recorded replies handed out in
place of the players; so whatever does not follow from the replies is found. Players whose replies follow from their
seeds are asked again besides, and must reply as they are said to have done.
"""

from gymposium.arena.verify.board import verify_board
from gymposium.arena.verify.findings import About, BoardVerification, Finding, PlayerVerified, ResultsState

__all__ = ["About", "BoardVerification", "Finding", "PlayerVerified", "ResultsState", "verify_board"]
