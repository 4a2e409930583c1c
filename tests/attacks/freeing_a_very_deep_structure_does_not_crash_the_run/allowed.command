run {skill} main.py -- 100000
