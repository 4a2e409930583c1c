curl -s -o /dev/null http://127.0.0.1:9/
echo "curl: $?"
