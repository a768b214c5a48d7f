"""Games in which interests agree in part: the seats can gain together, and pull against each other."""
