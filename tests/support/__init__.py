"""Helpers shared by the tests: the contract, a client, a fake agent, polling with a deadline."""
