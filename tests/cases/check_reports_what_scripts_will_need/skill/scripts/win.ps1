Write-Host
