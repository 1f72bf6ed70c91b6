"""Lets adocd observe and tune a RocksDB that this program has opened with rocksdict (agents/admin-api.yaml).

import adocd_agent
attachment = adocd_agent.attach(db, options)
"""

from adocd_agent.attachment import Attachment, attach
from adocd_agent.version import __version__

__all__ = ["Attachment", "__version__", "attach"]
