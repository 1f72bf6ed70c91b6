"""Several databases on one device, one of them hot: each law for itself, and with the daemon's arbiter."""
