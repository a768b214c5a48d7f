"""The proof: what the text of mails answers, found without the generator."""
