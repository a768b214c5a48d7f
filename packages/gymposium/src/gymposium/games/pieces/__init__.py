"""Games of pieces that move: to take the other's, or to arrive."""
