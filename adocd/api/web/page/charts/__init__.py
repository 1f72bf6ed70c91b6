"""The charts of one target: what each shows (`spec`), and the elements that show it (`panel`)."""
