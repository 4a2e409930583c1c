run --workspace {workspace} {skill} main.py -- inside.txt a/b ./c
