run --workspace {workspace} {skill} main.py -- 8
