"""The tests of gymposium-trl need TRL: tox run -e trl."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("gymposium_trl") is None:
    collect_ignore_glob = ["*"]
else:
    from tests.agents.conftest import family_tokenizer

    from .fixtures import guess, one_thread, tool_model

    __all__ = ["family_tokenizer", "guess", "one_thread", "tool_model"]
