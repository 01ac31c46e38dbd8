"""Results as tables of text and as HTML."""
