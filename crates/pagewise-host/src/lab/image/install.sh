#!/bin/sh
# Runs once, as the first process of the new machine: only inside it does GRUB see the disk it is to be installed on.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -o remount,rw /
if grub-install --target=i386-pc /dev/vda && update-grub; then
    echo "pagewise: installed"
fi
rm -f /usr/lib/pagewise/install
sync
echo u >/proc/sysrq-trigger
sleep 1
echo o >/proc/sysrq-trigger
sleep 60
