run {skill} pipe.py
