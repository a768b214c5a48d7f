"""Static websites of boards, built only from the board's folder.

Equal boards give equal bytes. Text from players, games and models is escaped by the viewer (`gymposium_viewer.pages`).
"""
