"""Wordings of questions. The splits `train` and `test` have different ones.

Lookups have many wordings in `train`, in different orders of words: a model that learns from two of them does not
understand a third."""

from __future__ import annotations

from typing import Literal

Split = Literal["train", "test"]

WORDINGS: dict[str, dict[Split, tuple[str, ...]]] = {
    "lookup.named": {
        "train": (
            'What is the {column} of the {noun} "{name}"?',
            'Give the {column} of the {noun} "{name}".',
            'Which {column} does the {noun} "{name}" have?',
            'Tell me the {column} of the {noun} "{name}".',
            'Find the {noun} "{name}" and state its {column}.',
            'I mean the {noun} "{name}". What is its {column}?',
            'Look up the {noun} "{name}". We need its {column}.',
            'I would like to know the {column} that the {noun} "{name}" has.',
            'There is one {noun} "{name}": report its {column}.',
            'About the {noun} "{name}": which {column} is on record?',
            'Of the {noun} "{name}", name the {column}.',
            'Read the {column} of the {noun} "{name}" from the data.',
            'A customer asked about the {noun} "{name}". Say which {column} it has.',
            'The {noun} "{name}" has one {column}. Which?',
        ),
        "test": ('For the {noun} "{name}", what is the {column}?',),
    },
    "lookup.numbered": {
        "train": (
            "What is the {column} of the {noun} with the id {id}?",
            "Give the {column} of the {noun} with the id {id}.",
            "Which {column} does the {noun} with the id {id} have?",
            "Tell me the {column} of the {noun} with the id {id}.",
            "Find the {noun} with the id {id} and state its {column}.",
            "I mean the {noun} with the id {id}. What is its {column}?",
            "Look up the {noun} with the id {id}. We need its {column}.",
            "I would like to know the {column} that the {noun} with the id {id} has.",
            "There is one {noun} with the id {id}: report its {column}.",
            "About the {noun} with the id {id}: which {column} is on record?",
            "Of the {noun} with the id {id}, name the {column}.",
            "Read the {column} of the {noun} with the id {id} from the data.",
            "A customer asked about the {noun} with the id {id}. Say which {column} it has.",
            "The {noun} with the id {id} has one {column}. Which?",
        ),
        "test": ("For the {noun} with the id {id}, what is the {column}?",),
    },
    "lookup.reverse": {"train": (), "test": ('Which {noun} has the {column} "{value}"?',)},
    "count.where": {
        "train": ("How many {plural} are there {where}?", "Count the {plural} {where}."),
        "test": ("What is the number of {plural} {where}?",),
    },
    "sum.where": {
        "train": (
            "What is the total {column} of the {plural} {where}?",
            "Add up the {column} of the {plural} {where}.",
        ),
        "test": ("Taken together, what is the {column} of the {plural} {where}?",),
    },
    "average.where": {
        "train": ("What is the average {column} of the {plural} {where}?",),
        "test": ("Work out the mean {column} of the {plural} {where}.",),
    },
    "superlative.all": {
        "train": ("Which {noun} has the {most} {column}?",),
        "test": ("Name the {noun} with the {most} {column}.",),
    },
    "superlative.where": {
        "train": ("Which {noun} has the {most} {column} among the {plural} {where}?",),
        "test": ("Of the {plural} {where}, which has the {most} {column}?",),
    },
    "superlative.common": {
        "train": ("Which {column} is the {most} common among the {plural}?",),
        "test": ("Which {column} do the {most} {plural} have?",),
    },
    "join.count_events": {
        "train": ('How many {plural} belong to the {noun} "{name}"?',),
        "test": ('What is the number of {plural} of the {noun} "{name}"?',),
    },
    "join.count_where": {
        "train": ("How many {plural} belong to {owners} {where}?",),
        "test": ("What is the number of {plural} of {owners} {where}?",),
    },
    "join.count_both": {
        "train": ("How many {plural} belong both to {owners} {where} and to {others} {other_where}?",),
        "test": ("What is the number of {plural} of {owners} {where} that are also of {others} {other_where}?",),
    },
    "join.count_place": {
        "train": ('How many {plural} belong to {owners} of the {noun} "{name}"?',),
        "test": ('What is the number of {plural} of {owners} that belong to the {noun} "{name}"?',),
    },
    "join.count_different": {
        "train": ('How many different {others} are there among the {plural} that belong to the {noun} "{name}"?',),
        "test": ('What is the number of different {others} in the {plural} of the {noun} "{name}"?',),
    },
    "join.sum_column": {
        "train": ('What is the total {column} of the {plural} that belong to the {noun} "{name}"?',),
        "test": ('Taken together, what is the {column} of the {plural} of the {noun} "{name}"?',),
    },
    "join.sum_product": {
        "train": (),
        "test": (
            'Over the {plural} of the {noun} "{name}", add up the {column} times the {other_column} of the {other}.',
        ),
    },
    "join.average_where": {
        "train": ("What is the average {column} of the {plural} that belong to {owners} {where}?",),
        "test": ("Work out the mean {column} of the {plural} of {owners} {where}.",),
    },
    "join.most": {
        "train": ("Which {noun} has the most {plural}?",),
        "test": ("To which {noun} do the most {plural} belong?",),
    },
    "join.owner": {
        "train": ("What is the {column} of the {owner} to which the {noun} with the id {id} belongs?",),
        "test": ("The {noun} with the id {id} belongs to one {owner}. What is the {column} of that {owner}?",),
    },
}
"""Wordings of each split, by form. A form without a wording occurs only in the other split."""

CONDITIONS: dict[str, dict[Split, str]] = {
    "equal": {"train": 'whose {column} is "{value}"', "test": 'with the {column} "{value}"'},
    "at least": {"train": "whose {column} is at least {value}", "test": "with {value} or more as {column}"},
    "at most": {"train": "whose {column} is at most {value}", "test": "with {value} or less as {column}"},
    "above": {"train": "whose {column} is above {value}", "test": "with more than {value} as {column}"},
    "below": {"train": "whose {column} is below {value}", "test": "with less than {value} as {column}"},
    "year": {"train": "whose {column} is in {value}", "test": "with a date in {value} as {column}"},
    "from": {
        "train": "whose {column} is from {value} to {last}, both included",
        "test": "with a date between {value} and {last}, both included, as {column}",
    },
}
"""Wordings of conditions in each split, by relation."""

GREATEST: dict[Split, str] = {"train": "highest", "test": "greatest"}
LEAST: dict[Split, str] = {"train": "lowest", "test": "smallest"}
EARLIEST: dict[Split, str] = {"train": "earliest", "test": "first"}
MOST: dict[Split, str] = {"train": "most", "test": "most"}
FEWEST: dict[Split, str] = {"train": "least", "test": "fewest"}
LATEST: dict[Split, str] = {"train": "latest", "test": "last"}
