"""Starts and supervises processes: serve, exec, the web process, and the build of native parts."""
