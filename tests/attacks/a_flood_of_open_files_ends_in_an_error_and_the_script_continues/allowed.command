run {skill} main.py -- 200
