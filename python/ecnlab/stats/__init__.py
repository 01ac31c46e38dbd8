"""Estimates with intervals, steady state, and the required number of seeds."""
