"""The commands of README and guide, run as they are written."""
