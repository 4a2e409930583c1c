run --virtual-paths --workspace {workspace} {skill} main.js -- relative chained directory/text.txt
