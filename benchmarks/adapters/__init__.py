"""What gymposium's adapters cost inside other libraries."""
