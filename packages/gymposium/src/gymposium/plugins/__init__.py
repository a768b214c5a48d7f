"""The plugin system: specs that plugins yield, hooks that they implement, the host that loads them."""
