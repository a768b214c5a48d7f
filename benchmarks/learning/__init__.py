"""What language models learn of games, in CPU seconds: the small model that `gymposium train` makes, a cold start from
uniform random play alone, seeds fixed beforehand, and the last iterate measured at the budget.

`tasks` says what is learned and what must be reached, `tasks/*.toml` how; `one` does one run and measures it
(`measures`) beside its cold start and a control of longer SFT; `verdict`, `table`, `curves` and `page` show what came
of it.
"""
