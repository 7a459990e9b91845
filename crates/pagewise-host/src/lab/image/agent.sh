#!/bin/sh
# Runs what `pagewise lab boot IMAGE -- COMMAND` asks for, at every boot of the machine, and switches it off when that has ended. A command
# that the machine's own reboot ends has not: it runs again after it.
modprobe -q qemu_fw_cfg
modprobe -q virtio_console
task=/sys/firmware/qemu_fw_cfg/by_name/opt/pagewise/command/raw
ports=/dev/virtio-ports
tries=0
while [ ! -e "$ports/pagewise.status" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || exit 0
    sleep 1
done
(while :; do
    date +%s >"$ports/pagewise.pulse"
    sleep 5
done) &
[ -r "$task" ] || exit 0
cd /root || exit 1
HOME=/root sh "$task" >"$ports/pagewise.out" 2>&1 </dev/null
status=$?
[ "$(systemctl is-system-running)" != stopping ] || exit 0
sync
echo "$status" >"$ports/pagewise.status"
systemctl --no-block poweroff
