"""LoRA adapters, from attaching one to sharing it."""

import logging

# PEFT imports bitsandbytes wherever that is installed, and it then asks for a kernel that models here are kept from
# using (quantized.py says why): a riddle to whoever only named an adapter
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
