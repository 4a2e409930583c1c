run --max-output 8KiB {skill} flood.py
