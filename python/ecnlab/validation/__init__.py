"""Comparison with ns-2, packet by packet and table by table, and with formulas."""
