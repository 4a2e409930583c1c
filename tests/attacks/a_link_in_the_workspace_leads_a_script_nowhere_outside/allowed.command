run --virtual-paths --workspace {workspace} {skill} main.py -- relative chained directory/text.txt
