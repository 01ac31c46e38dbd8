"""The parts of a study: items, claims, the plan of its runs, decisions, figures and the report."""
