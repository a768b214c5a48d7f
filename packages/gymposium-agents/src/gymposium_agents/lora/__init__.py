"""LoRA adapters: attaching, loading, saving, versions, and pushing to the hub."""

import logging

# PEFT imports bitsandbytes if it is installed, and that logs a request for a kernel that models here never use (see
# quantized.py)
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
