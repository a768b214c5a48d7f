"""Games of lines: so many in a row win."""
