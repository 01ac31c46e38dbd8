"""Figures: axis labels with units, intervals as bars, one colour for each scheme; SVG, PDF and PNG, never opened by themselves."""
