run --allow write:skill {skill} main.py
