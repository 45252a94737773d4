"""What articles come from: dumps, datasets and the user's own documents."""
