"""Comparisons of two results, scenarios or sweeps."""
