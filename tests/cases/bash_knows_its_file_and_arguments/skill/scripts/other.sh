echo "sourced: ${BASH_SOURCE[0]}"
