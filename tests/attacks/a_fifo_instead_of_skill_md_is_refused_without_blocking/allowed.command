run {skill} main.py
