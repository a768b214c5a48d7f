"""Games for gymposium in which players talk: free text beside decisions that the rules score."""
