#!/bin/sh
# Slurm's Epilog=: ends the guard that the prolog began, and puts what it said into the system's log. Nothing of it is left.
set -u
here=/run/pagewise-guard-${SLURM_JOB_ID:-none}
if [ -r "$here.pid" ]; then
    pid=$(cat "$here.pid")
    # The number may be another process's by now.
    if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q 'pagewise guard run'; then
        kill -INT "$pid"
        # Its last line says what it did; it ends within a second.
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.2
        done
    fi
    if [ -r "$here.log" ]; then
        logger -t "pagewise-guard-${SLURM_JOB_ID:-none}" -f "$here.log" 2>/dev/null
    fi
    rm -f "$here.pid" "$here.log"
fi
exit 0
