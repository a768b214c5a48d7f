"""LoRA adapters: attaching, loading, saving, versions, and pushing to the hub."""

import logging

# If bitsandbytes is installed, PEFT imports it, and it logs a request for a kernel that models here never use (see
# quantized.py)
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
