"""LoRA adapters, from attaching one to sharing it."""
