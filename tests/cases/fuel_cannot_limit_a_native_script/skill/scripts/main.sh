echo "it ran"
