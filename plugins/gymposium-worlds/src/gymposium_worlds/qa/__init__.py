"""Questions with one answer each, which a checker verifies: from a file, or arithmetic that is made up."""
