"""Runs as values, and what does them: threads here or workers of a cluster."""
