"""OpenEnv's environments as games for gymposium: `openenv:URL`."""
