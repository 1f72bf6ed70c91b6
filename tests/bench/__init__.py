"""Tests of adocd.bench."""
