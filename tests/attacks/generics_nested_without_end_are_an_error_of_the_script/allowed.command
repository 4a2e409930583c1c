run {skill} main.ts
