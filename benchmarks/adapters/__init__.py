"""What gymposium's adapters cost inside other libraries, against the same work without them."""
