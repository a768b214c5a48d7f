"""Questions about a database, each with its answer, which is computed from the rows."""
