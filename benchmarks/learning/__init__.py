"""What language models learn of games, in CPU seconds.

The small model that `gymposium train` makes has a cold start from uniform random play alone. Seeds are fixed
beforehand, and the last iterate is measured at the budget.

- `tasks` says what is learned and what must be reached, `tasks/*.toml` how.
- `one` does one run and measures it (`measures`), its cold start, and a control of longer SFT.
- `verdict`, `table`, `curves` and `page` show the results.
"""
