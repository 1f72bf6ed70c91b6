"""What starts and supervises processes: serve, exec, the web process, the build of native parts."""
