"""Chat completions in the form of OpenAI's API, answered by a token engine: what a server of any kind builds on.

The server owns the tokens. It renders the messages of a request, samples, keeps the ids and log-probabilities, and
recognizes its own replies when a client sends them back. No client sees or sends a token.
"""
