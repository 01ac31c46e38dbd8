"""Packet traces: writing, analyzing, and replaying recorded arrivals through a queue."""
