run --virtual-paths --allow read:{root}/outside {skill} main.py -- {root}/outside/secret.txt
