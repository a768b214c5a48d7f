"""Property tests have no deadline: speed is measured in benchmarks, not here."""

from hypothesis import settings

settings.register_profile("gymposium", deadline=None)
settings.load_profile("gymposium")
