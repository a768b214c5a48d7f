"""The coding agent aider. Arguments: the session's address, and `stream` if replies are to be streamed."""

import os
import sys
import tempfile
from pathlib import Path

from aider.main import main


def code(base_url: str, *options: str) -> str:
    """Let aider write a file in an empty folder, and return it."""
    address = ["--model", "openai/policy", "--openai-api-base", base_url, "--openai-api-key", "none"]
    quiet = ["--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-show-release-notes"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        message = ["--no-git", "--yes-always", "--edit-format", "whole", "--message", "Print the sum of 1, 2 and 3."]
        main([*address, *quiet, *message, *options, "sum.py"])
        os.chdir("/")
        return Path(folder, "sum.py").read_text(encoding="utf-8")


print(code(sys.argv[1], "--stream" if "stream" in sys.argv else "--no-stream"))
