run --virtual-paths --workspace {workspace} {skill} main.js -- /workspace
