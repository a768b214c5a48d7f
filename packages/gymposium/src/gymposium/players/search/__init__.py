"""Search players' building blocks.

- `viewlog`: a seat's observations.
- `worlds`: worlds that match these observations.
- `tree`: tree search over the worlds.
- `engine`: OpenSpiel's search for perfect information.
- `refusal`: games that search rejects."""
