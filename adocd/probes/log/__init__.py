"""RocksDB's LOG: what happened, seen from outside the process (all it takes is permission to read the file).

for event in read_log(Path("/var/lib/db/LOG")): ...       a whole LOG, with the rotated ones before it
follower = LogFollower(path); follower.poll()             one that is being written
parser = LogParser(); parser.feed(data)                   bytes from anywhere
"""

from adocd.probes.log.follow import LogFollower
from adocd.probes.log.parser import LogParser
from adocd.probes.log.read import read_log, rotated_logs

__all__ = ["LogFollower", "LogParser", "read_log", "rotated_logs"]
