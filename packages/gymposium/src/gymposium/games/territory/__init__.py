"""Games of territory: squares are enclosed, taken or left without a move."""
