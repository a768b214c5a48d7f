"""Rendering of chat templates within limits on time, memory and text. A template is an untrusted program.

This package does not import torch, so that the process that runs templates starts quickly.
"""

from gymposium_agents.chat.rendering.rendering import RenderingCost, RenderingRefusal, render_chat

__all__ = ["RenderingCost", "RenderingRefusal", "render_chat"]
