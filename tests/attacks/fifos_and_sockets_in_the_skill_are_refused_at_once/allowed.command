run --allow write:skill {skill} main.py -- pipe socket
