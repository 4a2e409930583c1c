run --allow write:{root}/data {skill} main.py -- {root}/data
