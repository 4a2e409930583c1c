# limits: processes=16 time=1 memory=256
# A bomb goes off only where it is held: not as root, and not without a limit.
[ "$(id -u)" != 0 ] && [ "$(ulimit -u)" != unlimited ] || exit 99
[ "$(ulimit -u)" -le 100 ] || exit 98
echo "held: yes"
bomb() { bomb | bomb & }
bomb 2>errors
until read -rd '' text <errors; [[ $text == *"Resource temporarily unavailable"* ]]; do :; done
echo "met: Resource temporarily unavailable"
while :; do :; done
