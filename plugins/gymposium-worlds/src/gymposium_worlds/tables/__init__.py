"""The world `tables`: questions about a generated database, which the player asks with SQL."""
