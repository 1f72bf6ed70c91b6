"""From what REST says to what the page shows: pure functions, without a clock, a browser or a library of either."""
