"""Language models as players: chat, token engines, LoRA, evaluation."""
