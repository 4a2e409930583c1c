run {skill} main.py -- 50000
