#!/bin/sh
# Slurm's Epilog=: ends the guard that the prolog began. It leaves nothing behind, so there is nothing else to do.
set -u
pid_file=/run/pagewise-guard-${SLURM_JOB_ID:-none}.pid
if [ -r "$pid_file" ]; then
    pid=$(cat "$pid_file")
    # The number may be another process's by now.
    if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q 'pagewise guard run'; then
        kill -INT "$pid"
    fi
    rm -f "$pid_file"
fi
exit 0
