"""Scenarios: reading, checking and building them, and the catalog of their parameters."""
