"""Token engine over a vLLM server that runs in another virtual environment and process, accessed over HTTP."""
