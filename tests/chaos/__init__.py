"""What must hold when processes are killed, disks fill and clocks jump; against real databases."""
