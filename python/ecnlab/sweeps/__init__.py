"""Sweeps: a scenario over a grid or a list of points, times seeds; its tables as one; and the folder that keeps them."""
