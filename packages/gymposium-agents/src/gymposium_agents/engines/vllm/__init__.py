"""Token engine over a vLLM server, which runs in another virtual environment and process and is asked over HTTP."""
