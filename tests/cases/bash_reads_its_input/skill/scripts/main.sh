cat
echo
read -r line || echo "then the end"
