run {skill} main.sh --allow write:skill
