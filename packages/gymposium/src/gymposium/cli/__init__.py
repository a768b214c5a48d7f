"""The `gymposium` command, with one module for each verb, which is imported when the verb is used."""
