"""Poker: bets on hidden cards."""
