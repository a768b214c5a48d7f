"""From a position to a prompt, and from a reply to a move."""
