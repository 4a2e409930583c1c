import json
json.loads('{"a": }')
