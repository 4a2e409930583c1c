Write-Output "ran"
