"""Tests of adocd_bench."""
