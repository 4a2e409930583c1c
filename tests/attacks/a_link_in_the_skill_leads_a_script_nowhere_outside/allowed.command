run --virtual-paths {skill} main.py -- relative chained directory/text.txt
