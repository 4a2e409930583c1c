"""Draws temperatures as a PNG."""
import matplotlib.pyplot as plt
