import json, sys
print(json.dumps(sys.argv))
