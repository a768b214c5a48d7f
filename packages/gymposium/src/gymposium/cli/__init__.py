"""The `gymposium` command. Each verb has a module that is imported on use."""
