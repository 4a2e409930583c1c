run {skill} main.py -- close
