"""Completions in the APIs of OpenAI and Anthropic, answered by a token engine: the basis of any server.

The server owns the tokens. It renders the messages of a request, samples, keeps the ids and log-probabilities, and
recognizes its own replies when a client sends them back. Clients never see or send tokens.
"""
