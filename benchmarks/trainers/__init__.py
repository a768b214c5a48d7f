"""The conformance kit of trainers, tried out with planted defects and clean trainers."""
