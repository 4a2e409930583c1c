run --timeout 30s -q --max-output 1KiB {skill} main.py
