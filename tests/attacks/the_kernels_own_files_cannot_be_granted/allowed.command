run --allow read:{workspace} {skill} main.py -- {workspace}/environ
