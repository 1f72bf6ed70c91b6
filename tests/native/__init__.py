"""Tests of the native agent beyond the protocol: what it does, and does not do, to the process it lives in."""
