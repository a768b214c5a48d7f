"""Training on the Tinker service: `gymposium train --backend tinker --model NAME`."""
