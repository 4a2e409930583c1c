run {skill} scripts/dir/x.py
