run --allow write:{root}/outside {skill} main.py -- {root}/outside/given.txt
