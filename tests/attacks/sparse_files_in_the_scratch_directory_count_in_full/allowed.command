run {skill} main.py -- 2
