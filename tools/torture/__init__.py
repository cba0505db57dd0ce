"""Fault injection for the installed commands: `make torture`."""
