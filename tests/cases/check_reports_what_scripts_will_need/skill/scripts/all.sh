#!/usr/bin/env bash
# Everything at once.
set -euo pipefail
here=$(dirname "$0")
city="${1:-$DEFAULT_CITY}"
curl -s "https://wttr.in/$city" | jq . | sort
python3 "$here/weather.py" "$city"
