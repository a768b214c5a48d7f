"""Parts of transformers models: forward passes, caches, faster and quantized layers, digests of files."""
