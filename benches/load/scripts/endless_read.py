"""Waits for input that never comes."""

import sys

sys.stdin.read()
