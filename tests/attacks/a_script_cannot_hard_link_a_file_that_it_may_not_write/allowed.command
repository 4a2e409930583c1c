run --virtual-paths --workspace {workspace} {skill} main.py -- own.txt
