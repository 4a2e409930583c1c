"""Counts words.

Usage: count.py FILE
"""
