"""Prints the forecast for a city."""
import json
import os
import sys
import urllib.request

key = os.environ["FORECAST_KEY"]
url = f"https://api.weather.dev/v1/{sys.argv[1]}?key={key}"
print(json.load(urllib.request.urlopen(url))["summary"])
