"""The report: figures worked out anew from the raw results of the runs, compared by rules that are written down."""
