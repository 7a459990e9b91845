#!/bin/sh
# Slurm's Prolog= on a compute node: a guard for the time of a job, on the CPUs that are left to the system.
#
# slurm.conf: Prolog=/etc/slurm/pagewise-prolog.sh, Epilog=/etc/slurm/pagewise-epilog.sh, and with CoreSpecCount= the CPUs that jobs do
# not get; name these in PAGEWISE_CPUS. A prolog that fails drains its node, so this one never does.
set -u
: "${PAGEWISE_CPUS:=}"
here=/run/pagewise-guard-${SLURM_JOB_ID:-none}
setsid /usr/bin/pagewise guard run ${PAGEWISE_CPUS:+--cpus "$PAGEWISE_CPUS"} \
    </dev/null >"$here.log" 2>&1 &
echo $! >"$here.pid"
exit 0
