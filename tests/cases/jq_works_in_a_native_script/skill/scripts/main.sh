jq -c '.a.b + 1'
