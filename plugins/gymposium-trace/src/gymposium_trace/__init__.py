"""Code tracing for gymposium: predict exactly what a Python program prints."""
