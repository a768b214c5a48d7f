"""Exports of matches and training data in the formats of other tools.

`atif` writes the Agent Trajectory Interchange Format, `chats` the messages of fine-tuning services, and `dataset` a
Parquet dataset for Hugging Face's `datasets`.
"""
