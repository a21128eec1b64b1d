"""Bridges to other libraries. Each is an extra, and is imported by whoever uses it."""
