"""Generated programs, drawn from a stream: `generate_program(difficulty, draw)`.

They terminate, print something, and behave alike in every Python since 3.11. They do not depend on set order, hashes,
clocks or error messages. The grades of difficulty are:

1. Branches and loops over numbers and strings.
2. Lists, `while` and functions.
3. Dicts, comprehensions, nested loops and nested calls.
4. Recursion, exceptions and early exits.
5. Classes, generators, closures and context managers.
"""

from __future__ import annotations

from gymposium.util.streams import Draw
from gymposium_trace.programs.definitions import write_definition
from gymposium_trace.programs.statements import Statements
from gymposium_trace.programs.writer import Scope, Writer

GRADES = (1, 2, 3, 4, 5)


def generate_program(difficulty: int, draw: Draw) -> str:
    """Return the text of a program with this grade of difficulty."""
    writer = Writer()
    scope = Scope()
    for _ in range({1: 0, 2: 1, 3: 2, 4: 2, 5: 2}[difficulty]):
        write_definition(writer, scope, difficulty, draw)
    main = Statements(writer, scope, difficulty, draw)
    main.write_start()
    main.write_some({1: 3, 2: 3, 3: 4, 4: 4, 5: 4}[difficulty])
    main.write_end()
    return writer.text()
