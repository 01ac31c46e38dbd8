"""Sweeps: a scenario over a grid or list of points and seeds, with tables over all points and their folder."""
