run --workspace {workspace} {skill} main.js -- pipe socket
