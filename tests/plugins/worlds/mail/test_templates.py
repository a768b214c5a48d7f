"""The train/test split of question wordings and mailboxes."""

from __future__ import annotations

import string

from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.questions import COUNT, FIRST, VALUE
from gymposium_worlds.mail.store import split_words
from gymposium_worlds.mail.tasks import MailTasks

FORMS = (VALUE, FIRST, COUNT)


def bare(form: str) -> set[str]:
    names = [name for _, name, _, _ in string.Formatter().parse(form) if name]
    return set(split_words(form.format(**dict.fromkeys(names, ""))))


def test_test_split_has_new_wordings_but_known_words() -> None:
    train_mails = {
        word for seed in (0, 2, 4) for mail in make_mailbox(seed, 200).mails for word in split_words(mail.body)
    }
    train_words = train_mails.union(*(bare(form) for forms in FORMS for form in forms["train"]))
    for forms in FORMS:
        assert len(forms["train"]) >= 4
        assert len(forms["test"]) >= 2
        assert not set(forms["train"]) & set(forms["test"])
        for form in forms["test"]:
            assert bare(form) <= train_words, form


def test_train_and_test_mailboxes_are_disjoint() -> None:
    worlds = {
        split: {MailTasks(mails=20, split=split).task(seed)["mailbox"] for seed in range(200)}
        for split in ("train", "test")
    }
    assert len(worlds["train"]) > 100
    assert not worlds["train"] & worlds["test"]
