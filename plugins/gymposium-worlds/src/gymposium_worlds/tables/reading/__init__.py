"""The reading of questions: from words and tables to SQL. It shares nothing with the generator of questions, so that it
can check them."""
