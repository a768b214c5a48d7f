"""The viewer part that shows training runs: curves, rollouts token by token, and evaluations.

`run_page.render_report` makes a standalone page for one run. It needs none of the server's libraries.
"""
