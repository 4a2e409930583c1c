run {skill} scripts/main.py
