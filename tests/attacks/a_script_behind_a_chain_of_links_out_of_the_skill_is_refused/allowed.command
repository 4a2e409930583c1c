run {skill} first.py
