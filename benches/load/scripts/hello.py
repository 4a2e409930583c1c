"""Prints a word."""

print("hello")
