"""One module per verb of the command line, each with a SUMMARY, `configure(parser)` and `run(arguments)`."""
