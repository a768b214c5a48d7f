"""Web pages for matches and training runs: a local server, and the same pages as files.

The viewer consists of parts (`gymposium_viewer.part`), each with its own pages. Every page has a path such as
`matches/run.jsonl/17.html` and relative links, so served and exported pages are the same. Pages are readable without
scripts. Text from models, opponents and games is escaped, so it never runs as code (`gymposium_viewer.pages`,
`gymposium_viewer.guard`).
"""
