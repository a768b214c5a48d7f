"""Questions with one verifiable answer each, from a file or generated arithmetic."""
