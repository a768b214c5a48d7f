"""Pages to look at what was played and learned: a local server, and the same pages as files.

The viewer consists of parts (`gymposium.viewer.part`): each brings its pages, for the server and for files. Every page
has a path such as `matches/run.jsonl/17.html` and links to others relatively, so that both are the same pages, and
none needs a script to be read. What models, opponents and games wrote is shown and never run (`gymposium.viewer.pages`,
`gymposium.viewer.guard`). Needs the extra `gymposium[viewer]`.
"""
