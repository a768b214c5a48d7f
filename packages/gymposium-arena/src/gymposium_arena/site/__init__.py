"""Static sites of boards: pages without scripts or a server, made from the board's directory alone.

Equal boards give equal bytes. Text from players, games and models is shown and never run; styles and escaping are those
of the viewer (`gymposium_viewer.pages`).
"""
