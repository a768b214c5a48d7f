"""Conversion of messages to token ids and back, with the model's chat template.

Every prompt is the template's rendering, encoded token by token like `apply_chat_template`, with one difference: text
from a game, a seat or a model never becomes a control token.
"""
