"""Credit assignment: the rewards of a batch in, an advantage for each turn out. `protocol` holds the contract; each
algorithm is a file with its settings."""
