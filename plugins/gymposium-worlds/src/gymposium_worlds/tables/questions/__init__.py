"""Questions about a database, with answers computed from the rows."""
