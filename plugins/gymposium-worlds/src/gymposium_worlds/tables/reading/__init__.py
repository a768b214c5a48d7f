"""Parser of questions: from words and tables to SQL. It shares nothing with the generator, so it can check it."""
