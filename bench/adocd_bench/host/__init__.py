"""The machine under measurement: its disk and the cap on it, its processors, and processes' usage."""
