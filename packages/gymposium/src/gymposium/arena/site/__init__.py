"""A board as a static site: pages that need no script and no server, made from the board's directory alone.

Equal boards give equal bytes. What players, games and models wrote is shown and never run, as in the viewer, whose
pages, styles and escaping these are (`gymposium.viewer.pages`). Needs the extra `gymposium[arena]`.
"""
