"""The `gymposium` command. Each verb has its own module, imported on use."""
