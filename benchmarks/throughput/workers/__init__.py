"""What plays another library's games, each module in that library's own environment and in a separate process."""
