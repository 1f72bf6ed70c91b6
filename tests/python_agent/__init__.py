"""The Python agent beyond what the contract asks of every agent: its host's interpreter, close, fork and exit."""
