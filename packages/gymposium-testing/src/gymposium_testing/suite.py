"""Run the kit as a pytest module, without writing code.

Check every installed plugin:

    pytest --pyargs gymposium_testing.suite

Check some games or plugins, or a one-file plugin, with more or less effort. The options come from
`gymposium_testing.conformance`. Name it with `-p`, because pytest reads options before it resolves `--pyargs`:

    pytest --pyargs gymposium_testing.suite -p gymposium_testing.conformance --game nim --game my_plugin
    pytest --pyargs gymposium_testing.suite -p gymposium_testing.conformance --plugin-file nim.py --effort thorough
"""

from __future__ import annotations

from os.path import realpath
from typing import Any

from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium_testing.conformance import parametrize, run_as_test
from gymposium_testing.contract import EFFORTS, NORMAL
from gymposium_testing.registry import Check, Subject
from gymposium_testing.subjects import NOTHING_TO_CHECK, find_subjects, list_plugin_subjects, list_plugins


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrize the test by check and subject."""
    config = metafunc.config
    for file in config.getoption("plugin_files", default=None) or ():
        if not any(plugin.source == realpath(file) for plugin in host().plugins):
            host().load_file(file)
    names = config.getoption("games", default=None)
    lists = map(find_subjects, names) if names else map(list_plugin_subjects, list_plugins())
    subjects = [subject for of_one_name in lists for subject in of_one_name]
    if not subjects:
        raise BadOption(NOTHING_TO_CHECK)
    parametrize(metafunc, subjects)


def test_conforms(check: Check, subject: Subject, request: Any) -> None:
    """Test that the subject passes the check."""
    effort = EFFORTS[request.config.getoption("effort", default=NORMAL.name)]
    run_as_test(check, subject, request.config.getoption("kit_seed", default=0), effort)
