"""The plugin system: the specs that plugins yield, the hooks they implement, and the host that loads them."""
