"""vLLM: a server in a virtual environment and a process of its own, spoken to over HTTP."""
