echo "before"
kill -SEGV $$
