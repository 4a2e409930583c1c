run {skill} main.py -- 30
