run {skill} loop.py
