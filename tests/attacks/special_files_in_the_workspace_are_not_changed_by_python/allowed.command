run --workspace {workspace} {skill} main.py -- pipe socket
