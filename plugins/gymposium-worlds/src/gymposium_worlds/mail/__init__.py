"""The world `mail`: questions about a mailbox, answered by searching and reading it.

- `making` generates a mailbox and its questions from a seed.
- `proof` derives the answers from the text of the mails alone.
- `store` searches the mails.
- `world` and `tasks` make a game of it, and `corpus` does so for mails of your own.
- `expert` plays the game.
"""
