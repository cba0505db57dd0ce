"""What the project promises under attack, tried on the real commands: `make torture`."""
