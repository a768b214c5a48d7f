"""From messages to token ids and back, by the model's own chat template.

Every prompt is the rendering of the template, encoded as `apply_chat_template` would encode it, token by token, with
one difference: text that a game, a seat or a model supplied can never become a control token.
"""

from gymposium_agents.chat.chat import Chat

__all__ = ["Chat"]
