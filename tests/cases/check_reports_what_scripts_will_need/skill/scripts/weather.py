"""Prints the weather. See https://docs.python.org/3/ for more."""
import json
import os
import ssl
import subprocess
import urllib.request

import helper
import requests
from numpy import mean

try:
    import yaml
except ImportError:
    yaml = None

API = f"https://api.weather.gov/points/{os.environ['WEATHER_POINT']}"
KEY = os.getenv("WEATHER_KEY", "")
HOME = os.environ["HOME"]
# os.getenv("NOT_READ"), https://not.example.dev
text = "import not_imported"
subprocess.run(["git", "log"], check=False)
