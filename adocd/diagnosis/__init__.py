"""Diagnosis of a database's stalls from its LOG: how long, when, why, and what would likely help.

It needs neither daemon nor target: it turns values of adocd.probes.log into a Diagnosis.
"""

from adocd.diagnosis.diagnosis import Diagnosis

__all__ = ["Diagnosis"]
