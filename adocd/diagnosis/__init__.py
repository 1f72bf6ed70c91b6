"""What a LOG tells of a database's stalls: how long, when, why, and what would likely help.

A room of its own, for it needs neither daemon nor target: values of adocd.probes.log in, a Diagnosis out.
"""

from adocd.diagnosis.diagnosis import Diagnosis

__all__ = ["Diagnosis"]
