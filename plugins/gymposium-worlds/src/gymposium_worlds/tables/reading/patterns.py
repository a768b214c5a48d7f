"""Question forms, as patterns."""

from __future__ import annotations

import re

_WORDINGS = (
    ("count_both", "How many {plural} belong both to {owners} {where} and to {others} {other_where}[?]"),
    ("count_both", "What is the number of {plural} of {owners} {where} that are also of {others} {other_where}[?]"),
    (
        "count_different",
        'How many different {others} are there among the {plural} that belong to the {noun} "{name}"[?]',
    ),
    ("count_different", 'What is the number of different {others} in the {plural} of the {noun} "{name}"[?]'),
    ("count_place", 'How many {plural} belong to {owners} of the {noun} "{name}"[?]'),
    ("count_place", 'What is the number of {plural} of {owners} that belong to the {noun} "{name}"[?]'),
    ("count_owned", 'How many {plural} belong to the {noun} "{name}"[?]'),
    ("count_owned", 'What is the number of {plural} of the {noun} "{name}"[?]'),
    ("count_owned", "How many {plural} belong to {owners} {where}[?]"),
    ("count_owned", "What is the number of {plural} of {owners} {where}[?]"),
    ("count", "How many {plural} are there {where}[?]"),
    ("count", "Count the {plural} {where}[.]"),
    ("count", "What is the number of {plural} {where}[?]"),
    (
        "sum_product",
        'Over the {plural} of the {noun} "{name}", add up the {column} times the {other_column} of the {other_noun}[.]',
    ),
    ("sum_owned", 'What is the total {column} of the {plural} that belong to the {noun} "{name}"[?]'),
    ("sum_owned", 'Taken together, what is the {column} of the {plural} of the {noun} "{name}"[?]'),
    ("sum", "What is the total {column} of the {plural} {where}[?]"),
    ("sum", "Add up the {column} of the {plural} {where}[.]"),
    ("sum", "Taken together, what is the {column} of the {plural} {where}[?]"),
    ("average_owned", "What is the average {column} of the {plural} that belong to {owners} {where}[?]"),
    ("average_owned", "Work out the mean {column} of the {plural} of {owners} {where}[.]"),
    ("average", "What is the average {column} of the {plural} {where}[?]"),
    ("average", "Work out the mean {column} of the {plural} {where}[.]"),
    ("most", "Which {noun} has the most {plural}[?]"),
    ("most", "To which {noun} do the most {plural} belong[?]"),
    ("common", "Which {column} is the {most} common among the {plural}[?]"),
    ("common", "Which {column} do the {most} {plural} have[?]"),
    ("extreme", "Which {noun} has the {most} {column} among the {plural} {where}[?]"),
    ("extreme", "Of the {plural} {where}, which has the {most} {column}[?]"),
    ("extreme", "Which {noun} has the {most} {column}[?]"),
    ("extreme", "Name the {noun} with the {most} {column}[.]"),
    ("reverse", 'Which {noun} has the {column} "{name}"[?]'),
    ("owner", "What is the {column} of the {owner} to which the {noun} with the id {id} belongs[?]"),
    ("owner", "The {noun} with the id {id} belongs to one {owner}[.] What is the {column} of that {owner2}[?]"),
    ("numbered", "What is the {column} of the {noun} with the id {id}[?]"),
    ("numbered", "For the {noun} with the id {id}, what is the {column}[?]"),
    ("named", '(?:What is|Give) the {column} of the {noun} "{name}"[?.]'),
    ("named", 'For the {noun} "{name}", what is the {column}[?]'),
)
_PARTS = {
    **dict.fromkeys(("noun", "owner", "owner2", "other_noun", "plural", "owners", "others"), "[a-z ]+?"),
    **dict.fromkeys(("column", "other_column"), "[a-z ]+"),
    **dict.fromkeys(("where", "other_where"), "(?:whose|with) .+?"),
    "most": "[a-z]+",
    "name": '[^"]+',
    "id": "[0-9]+",
}
_NAMED = {part: f"(?P<{part}>{pattern})" for part, pattern in _PARTS.items()}
_ROUNDING = r"(?: Round to (?P<places>[0-9]) decimals?\.)?"

PATTERNS = tuple((form, re.compile(wording.format(**_NAMED) + _ROUNDING)) for form, wording in _WORDINGS)
"""Forms and their patterns. The first match whose nouns are tables wins."""
