run --workspace {workspace} {skill} main.js -- {workspace}
