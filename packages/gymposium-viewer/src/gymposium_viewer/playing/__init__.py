"""The viewer part for playing against players."""
