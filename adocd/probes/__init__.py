"""Sources of a sample's parts. Each takes its data source as an argument, so that tests can pass another one."""
