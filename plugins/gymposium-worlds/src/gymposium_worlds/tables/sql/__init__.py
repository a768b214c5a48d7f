"""The SQL tool: read-only, bounded, and with results that do not depend on the machine."""
