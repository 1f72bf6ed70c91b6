"""Who may talk to an agent and to the daemon, and what one client can do to others."""
