"""OpenEnv environments as games for gymposium: `openenv:URL`."""
