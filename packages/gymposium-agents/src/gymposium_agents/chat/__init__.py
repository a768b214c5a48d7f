"""Conversion of messages to token ids and back, with the model's own chat template.

Every prompt is the rendering of the template, encoded token by token as `apply_chat_template` encodes it, with one
difference: text from a game, a seat or a model never becomes a control token.
"""
