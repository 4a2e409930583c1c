import json

value = json.loads("{")
