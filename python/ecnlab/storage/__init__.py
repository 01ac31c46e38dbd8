"""Storage of finished runs in files and in memory, and the results read from it."""
