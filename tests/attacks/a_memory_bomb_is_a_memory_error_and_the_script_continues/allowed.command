run {skill} main.py -- 20
