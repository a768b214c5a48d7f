"""The world `tables`: questions about a generated database, answered with SQL."""
