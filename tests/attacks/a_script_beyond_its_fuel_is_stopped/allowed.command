run --fuel 200000000 {skill} main.py -- 1000
