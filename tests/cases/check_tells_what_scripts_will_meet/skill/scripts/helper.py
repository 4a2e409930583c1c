"""Helps."""
