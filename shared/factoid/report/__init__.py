"""Pages made from saved results: one HTML file each, without a request to anywhere."""
