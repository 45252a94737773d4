"""Read users' files as documents."""
