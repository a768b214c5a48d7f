"""Conversion of messages to token ids and back, with the model's chat template.

Every prompt is the template's rendering, with the same tokens as from `apply_chat_template`. There is one difference:
text from a game, a seat or a model never becomes a control token.
"""
