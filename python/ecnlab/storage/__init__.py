"""Finished runs in files and in memory, and the results that are read from them."""
