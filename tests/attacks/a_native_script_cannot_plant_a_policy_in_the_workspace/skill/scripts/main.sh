ls -A
echo "creates $1"
echo 'allow = []' > "$1"
