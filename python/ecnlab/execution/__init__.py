"""Execution of runs by threads of this process or workers of a cluster."""
