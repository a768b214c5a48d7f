"""The plugin system: specs that plugins yield, hooks that they implement, and the host that loads them."""
