"""What propositionizers returned, kept passage by passage."""
