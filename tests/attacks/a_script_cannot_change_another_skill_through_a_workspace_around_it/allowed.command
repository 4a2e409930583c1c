run {skill} main.py --workspace {root} -- other
