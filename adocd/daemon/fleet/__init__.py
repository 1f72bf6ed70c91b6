"""All targets: discovery, directories, configuration, reload, operators, and the run itself."""
