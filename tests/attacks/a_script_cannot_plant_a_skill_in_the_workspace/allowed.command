run {skill} main.py --workspace {root} -- .agent skills
