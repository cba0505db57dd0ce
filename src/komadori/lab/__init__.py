"""Experiments: questions, variants and claims; their runs, records and pages."""
