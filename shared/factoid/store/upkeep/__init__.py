"""Maintain a store: checks, repair and tuning."""
