run --virtual-paths --workspace {root} --allow write:skill {skill} main.py
