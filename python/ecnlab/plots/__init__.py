"""Figures: axis labels with units, intervals as bars, one colour for each scheme; SVG and PNG, never opened by themselves."""
