run {skill} link.py
