"""What gymposium's adapters to other libraries cost, against the same work written by hand with those libraries."""
