"""Credit assignment: algorithms that turn the rewards of a batch into an advantage for each turn. `protocol` holds the
contract, and each algorithm is a file with its settings."""
