"""Proof of answers from the text of mails, without the generator."""
