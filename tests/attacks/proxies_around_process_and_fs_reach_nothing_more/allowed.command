run --virtual-paths --allow read:{root}/outside {skill} main.js -- {root}/outside/secret.txt
