"""The command as a process, as gymposium's own tests have it."""

from tests.gymposium.cli.conftest import gymposium, stutter  # noqa: F401
