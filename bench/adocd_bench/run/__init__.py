"""Runs a program under its agent and a daemon: workspace, start, and observation."""
