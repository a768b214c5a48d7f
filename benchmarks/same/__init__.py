"""Whether two versions of the code train to the same numbers."""
