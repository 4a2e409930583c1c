run {skill} main.py -- 2 10
