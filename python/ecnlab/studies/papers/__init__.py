"""The studies, a folder for each paper."""
