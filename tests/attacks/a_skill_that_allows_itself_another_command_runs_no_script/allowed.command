run {skill} main.py -- word
