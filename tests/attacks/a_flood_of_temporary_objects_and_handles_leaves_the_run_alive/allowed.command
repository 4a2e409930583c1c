run {skill} main.py -- 10
