"""The SQL tool: read-only, bounded, and independent of the machine."""
