"""The programs that write in a run, and how they are started."""
