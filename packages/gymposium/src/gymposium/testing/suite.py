"""The kit as tests that any author can run, with nothing written at all.

Every game of every installed plugin:

    pytest --pyargs gymposium.testing.suite

Some games, plugins, or a plugin that is one file, more or less thoroughly (`gymposium.testing.options` adds these
options; pytest reads options before it knows what `--pyargs` names, so the plugin is named too):

    pytest --pyargs gymposium.testing.suite -p gymposium.testing.options --game nim --game my_plugin
    pytest --pyargs gymposium.testing.suite -p gymposium.testing.options --plugin-file nim.py --effort thorough
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium.testing.conformance import parametrize, run_as_test
from gymposium.testing.effort import EFFORTS, NORMAL
from gymposium.testing.registry import Check, Subject
from gymposium.testing.subjects import NOTHING, installed_plugins, named_subjects, plugin_subjects


def pytest_generate_tests(metafunc: Any) -> None:
    """One test for each check and each thing that is checked."""
    config = metafunc.config
    for file in config.getoption("plugin_files", default=None) or ():
        if not any(plugin.source == str(Path(file).resolve()) for plugin in host().plugins):
            host().load_file(file)
    names = config.getoption("games", default=None)
    lists = map(named_subjects, names) if names else map(plugin_subjects, installed_plugins())
    subjects = [subject for found in lists for subject in found]
    if not subjects:
        raise BadOption(NOTHING)
    parametrize(metafunc, subjects)


def test_conforms(check: Check, subject: Subject, request: Any) -> None:
    """The game keeps what the check holds it to."""
    effort = EFFORTS[request.config.getoption("effort", default=NORMAL.name)]
    run_as_test(check, subject, request.config.getoption("kit_seed", default=0), effort)
