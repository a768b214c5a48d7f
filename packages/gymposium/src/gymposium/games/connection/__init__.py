"""Games of connection: one's stones are to be joined."""
