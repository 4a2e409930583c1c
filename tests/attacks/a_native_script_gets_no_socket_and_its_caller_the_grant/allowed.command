run {skill} main.sh --allow net:*
