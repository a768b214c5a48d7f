"""Static sites of boards: pages without a server, made only from the board's folder.

Equal boards give equal bytes. Text from players, games and models is shown and never run; styles and escaping come
from the viewer (`gymposium_viewer.pages`).
"""
