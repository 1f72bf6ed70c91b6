"""What examples/ offers is started as its user would."""
