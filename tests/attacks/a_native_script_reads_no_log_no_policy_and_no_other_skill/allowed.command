run {skill} main.sh --allow read:{root}/other -- {root}
