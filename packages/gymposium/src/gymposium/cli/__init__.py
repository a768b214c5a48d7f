"""The `gymposium` command: one module for each verb, imported when that verb is used."""
