"""Documents as document intelligence reads them: layout, tables and what is said about them."""
