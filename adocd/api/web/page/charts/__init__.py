"""The charts of one target: their definitions (`spec`) and their elements (`panel`)."""
