"""The small part that has to be trusted, for the most part as pure values in and out."""
