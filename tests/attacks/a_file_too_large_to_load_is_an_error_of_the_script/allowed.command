run --virtual-paths --workspace {workspace} {skill} main.js -- small.js small.json small.ts
