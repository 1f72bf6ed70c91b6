"""The machine that is measured on: its disk and the cap on it, its processors, what processes use."""
