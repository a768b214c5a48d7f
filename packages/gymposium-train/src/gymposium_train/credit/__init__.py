"""Credit assignment: algorithms that turn the rewards of a batch into an advantage for each turn. `protocol` defines
the contract. Each algorithm has its own file, with its settings."""
