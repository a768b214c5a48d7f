"""Models on disk: loaded, fetched, merged, and made small for demos and tests."""
