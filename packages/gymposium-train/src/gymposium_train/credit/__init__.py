"""Credit: the rewards of a batch in, what each turn deserves out. `episode` holds the contract; each algorithm is a
file of its own."""
