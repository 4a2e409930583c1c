run --workspace {root} --allow write:skill {skill} main.py
