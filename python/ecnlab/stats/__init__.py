"""Estimates with intervals, steady state, and how many seeds are enough."""
