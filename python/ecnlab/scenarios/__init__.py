"""Scenarios: reading, checking and building them, and what the engine knows of their parameters."""
