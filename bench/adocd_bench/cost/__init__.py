"""What control costs, in processor time, memory and time to a change."""
