run --timeout 30s {skill} main.py
