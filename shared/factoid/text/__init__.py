"""What a reader sees of a text: its blocks, and the sentences in them."""
