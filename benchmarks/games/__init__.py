"""What the games are like: how long and how wide they are, how random play ends, and a ladder of opponents."""
