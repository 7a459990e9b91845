# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pagewise_global_optspecs
    string join \n json v/verbose color= root= state-dir= cache-dir= h/help V/version
end

function __fish_pagewise_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pagewise_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pagewise_using_subcommand
    set -l cmd (__fish_pagewise_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pagewise -n "__fish_pagewise_needs_command" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_needs_command" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_needs_command" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_needs_command" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_needs_command" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_needs_command" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_needs_command" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_needs_command" -s V -l version -d 'Print version'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "doctor" -d 'What can be measured and changed here, and for each "no" the reason and the remedy'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "show" -d 'Show tunables: values now, what may be written, what switching takes'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "set" -d 'Apply a policy to this host, with the way back written down first'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "changes" -d 'What was changed here and is not undone yet'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "revert" -d 'Undo the last change, change ID, or all'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "prove" -d 'Compare two memory policies on a job: fair order, confidence interval, verdict, host left as found'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "trial" -d 'Run a declared matrix of policies: fair order, nothing lost, statistics that hold'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "record" -d 'Record what the kernel says about memory to a file'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "snapshot" -d 'Copy a recording as it is now, also while it is being recorded'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "diagnose" -d 'Name what memory management costs here, with evidence, and the smallest change to try first'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "import" -d 'Make a recording of what other tools wrote'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "export" -d 'Write a recording in the format of another tool'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "watch" -d 'Show a line per sample: CPU, memory, reclaim, compaction, huge pages, swap'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "top" -d 'Fill the screen with timelines, findings and the functions CPUs are in, of this host or of a recording'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "report" -d 'Say again what a trial found, from its bundle; or show a recording as one HTML page'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "analyze" -d 'Compare levels in a table of raw points: tests, intervals and a verdict'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "guard" -d 'Keep page reclaim out of the application\'s way'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "hugepages" -d 'Put the memory of a running process on huge pages'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "spark" -d 'Configure Spark for huge pages, find what is wrong with its configuration, and say which policy a job should try'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "lab" -d 'Kernels that can be booted here in a virtual machine, booting one, and machines with disks of their own'
complete -c pagewise -n "__fish_pagewise_needs_command" -f -a "workload" -d 'List the built-in workloads, or take the steps of one one by one'
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l walk-cost -d 'Measure the cost of page walks thoroughly: up to a minute, up to 2 GiB'
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l no-walk-cost -d 'Do not measure it at all (by default: less than two seconds)'
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l all -d 'List also what this host lacks, with the reason, and what acts on a job alone'
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand show" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l confirm-within -d 'Undo it after this long unless it is confirmed, such as 5m' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l confirm -d 'Keep change ID, which waits for confirmation' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l dry-run -d 'Say what would be done and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand set" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l all -d 'Also those that were undone; the newest hundred are kept'
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand changes" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l all -d 'Undo all changes, last first'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l stale -d 'Only what a killed run or another boot left; for a boot script'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l print -d 'Print plain shell lines that put the values back, and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l forget -d 'Give up the way back of change ID: its values stay as they are'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l dry-run -d 'Say what would be done and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand revert" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l a -d 'The base policy: [NAME:]TUNABLE=VALUE[,…], @FILE.toml, or \'now\'' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l b -d 'The policy that is judged against it' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l aa -d 'Both arms run under this one policy: shows this host\'s noise floor' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l pairs -d 'Pairs of runs, one of each policy; with --budget at most so many [default: 10; with --live 8]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l budget -d 'As many pairs as fit into this time, judged by the warm-up runs' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l margin -d 'Differences smaller than this do not matter [default: 2%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l warmup -d 'Unanalysed runs of each policy first [default: 1; with --live 0]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l metric -d 'What is compared and decides: wall, user, system, anon_peak, …, a name from $PAGEWISE_METRICS, or [NAME=]regex:PATTERN; the report has all other measures, too [default: wall; with --live system_share]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l direction -d 'Which way is better [default: lower]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l timeout -d 'A run longer than this is stopped and counts as a result' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l steal-limit -d 'A run does not count where the hypervisor took a larger share of the CPU time' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l pressure-limit -d 'A run waits until tasks of this host waited for memory, and for I/O, a smaller share of a second [default: 1%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l memory-drift-limit -d 'A run waits until as much memory is free or in caches as before the first run of its policy, but for this share [default: 5%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l drop-caches -d 'Drop the page cache before each run (auto: only for built-in workloads)' -r -f -a "auto\t''
yes\t''
no\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l warm-memory -d 'Touch free memory before each run, this much at most: for virtual machines whose hypervisor takes free memory back' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l workload -d 'A built-in workload instead of a command' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l prepare -d 'Runs before each run of the command, untimed' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l verify -d 'Runs after each run, untimed; when it fails the run\'s result is \'wrong\'' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l clean -d 'Runs last after each run, untimed' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l seed -d 'Seed of the run order [default: drawn from the clock, and recorded]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l name -d 'Name of the trial; its bundle is NAME.trial in this folder' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l resume -d 'Continue a bundle that was interrupted, as it was planned' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l stacks -d 'Record where CPUs are, too: stacks HZ times a second and CPU, 1 to 1000 [19 if none is given]. The report then compares the arms function by function' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l fail-on -d 'Exit 1 on these verdicts' -r -f -a "better\t''
worse\t''
equivalent\t''
inconclusive\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l wait -d 'When another run has this host, wait until it ends, or for this time at most' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l hadoop -d 'Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l cluster-dir -d 'Where TeraSort\'s data lie in a cluster\'s file system, for mode=hadoop [default: pagewise]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l block -d 'Time that is measured in each block [default: 60s]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l settle -d 'Time after a switch until the new value acts [default: what its tunables need]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l washout -d 'Time after that until what the old value left has faded [default: what its tunables need]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l stop-if -d 'End and restore when a signal crosses this over five seconds: SIGNAL>NUMBER, several with commas; counts and times are per second' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l pid -d 'End when this process ends; it is left alone' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l record -d 'Record the kernel\'s memory counters once a second while each run goes on, a file per run'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l stalls -d 'Record how long tasks are held up, too: by reclaim, compaction, throttling and dirty pages'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l dry-run -d 'Say what would be run and changed, and change nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l live -d 'Switch the policies in blocks of time while whatever runs goes on. Refuses what a running job would not notice. --metric is then a signal of the host (system_share, psi_memory_full, compact_stalls, …), a command that prints a number when a block ends, rate:COMMAND for a counter, or regex:PATTERN:FILE for the lines a log grew by. A job after -- is started first and ended with the proof'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l short-lived -d 'What runs is made of processes that end within a block, so settings of new memory (thp.enabled) can be switched'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand prove" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "check" -d 'Say what a plan will run, cost and find, and what is weak about it; changes nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "run" -d 'Run a plan to its end; its bundle is NAME.trial in this folder'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "resume" -d 'Go on with a trial that was interrupted'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "status" -d 'Say how far a trial is: done, next, time left, alpha spent'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "analyze" -d 'Say what a trial found, from its bundle alone'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and not __fish_seen_subcommand_from check run resume status analyze verify" -f -a "verify" -d 'Analyse a bundle again and compare the bytes with the reports in it'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l cv -d 'Scatter of a run, for power: its standard deviation as a share of its mean' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l pilot -d 'Take scatter and times from an earlier trial' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l data -d 'The data of a command that come back before every run' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l strict -d 'Weaknesses are errors: exit 2 when there is any'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l elsewhere -d 'Do not look at this host: the plan is for another one'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l name -d 'Name of the trial instead of the plan\'s' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l seed -d 'Seed of the run order instead of the plan\'s [default: the plan\'s, else drawn from the clock, and recorded]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l data -d 'The data of a command that come back before every run' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l hadoop -d 'Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l cluster-dir -d 'Where TeraSort\'s data lie in a cluster\'s file system, for mode=hadoop [default: pagewise]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l wait -d 'When another run has this host, wait until it ends, or for this time at most' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l strict -d 'Refuse a plan that has a weakness'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l boot -d 'Boot this host by itself for every kernel that a point needs: root, systemd, and GRUB or systemd-boot'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l dry-run -d 'Say what would be run and changed, and change nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l data -d 'The data of a command that come back before every run [default: where they were when it began]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l wait -d 'When another run has this host, wait until it ends, or for this time at most' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l pressure-limit -d 'A run waits until tasks of this host waited for memory, and for I/O, a smaller share of a second [default: 1%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l memory-drift-limit -d 'A run waits until as much memory is free or in caches as before the first run of its policy, but for this share [default: 5%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l hadoop -d 'Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l cluster-dir -d 'Where TeraSort\'s data lie in a cluster\'s file system, for mode=hadoop [default: pagewise]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l boot -d 'Boot this host by itself for every kernel that a point needs: root, systemd, and GRUB or systemd-boot'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l watch -d 'Fill the screen and follow the trial until q is pressed; reads the trial once a second'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l format -d 'How to write it' -r -f -a "text\t'For the terminal'
markdown\t'For a pull request or a mail'
html\t'One file with figures, for a browser'
json\t'Every number, for programs'
latex\t'A trial as tables for a paper'
text72\t'A trial as a mail of 72 columns'
r\t'A trial as an R script, data included, that computes every number again'
csv\t'A trial as a table with a row per run, as `pagewise analyze` reads it'"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from analyze" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand trial; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -s o -l output -d 'The file; never overwritten' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l hz -d 'Samples a second, 0.01 to 20' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l for -d 'How long, such as 60s or 10m; a COMMAND that runs longer goes on, unrecorded [default: until Ctrl-C, or as long as COMMAND runs]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l cgroup -d 'Record the memory files of this control group, too; may be given several times' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l size-cap -d 'Remove the oldest samples when the file gets larger than this, such as 100M' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l stacks -d 'Also where CPUs are: stacks of the kernel and of programs, HZ times a second and CPU, 1 to 1000 [19 if none is given]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l processes -d 'How often all processes are read, to keep those that use most CPU time and memory; 0 for never [default: 30s]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l stalls -d 'Also how long tasks are held up by reclaim, compaction, throttling and dirty pages'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l flight -d 'Stacks (99 times a second unless --stacks says otherwise) and stalls for 20 s when there is trouble: tasks waiting for memory, or 30 % system time'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l tlb -d 'Also how much of their time CPUs look up translations, by counters of the processor where it has any'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l redact -d 'Keep the names of kernel threads and of COMMAND\'s processes only'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand record" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -s o -l output -d 'The copy; never overwritten' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand snapshot" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l import -d 'Judge what another tool wrote: a file or a folder, such as listing.txt, perf-top:top.txt or archive/; without KIND, or with auto:, what wrote it is found from the text; several of them, or given several times, are of one host' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l setting -d 'A setting the host had, such as thp.enabled=always' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l about -d 'Something about the host or the files: kernel=, date=2012-06-18, utc_offset=+02:00, interval=5s, vmstat_unit=M, …' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l from -d 'From this long after the beginning, such as 90s, or from an instant such as 2026-11-21T17:30:00Z' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l until -d 'Until then' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l for -d 'How long to record, such as 30s or 5m [default: 30s, or as long as COMMAND runs]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l explain -d 'Say what one rule made of the evidence instead: what held, what did not and what was missing; a part of its id is enough' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l fail-on -d 'Exit 1 when a finding is at least this severe' -r -f -a "low\t''
medium\t''
high\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand diagnose" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -s o -l output -d 'The recording; never overwritten' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l setting -d 'A setting the host had, such as thp.enabled=always' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l about -d 'Something about the host or the files: kernel=, date=2012-06-18, utc_offset=+02:00, interval=5s, vmstat_unit=M, …' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand import" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l to -d 'csv, parquet, openmetrics, folded, pprof or firefox' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -s o -l output -d 'Where to; never overwritten. A folder where the format is one [default: stdout, or a folder named after the recording]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l series -d 'Only series that fit, such as \'vmstat.compact_*\' or MemFree' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l from -d 'From this long after the beginning, such as 90s, or from an instant such as 2026-11-21T17:30:00Z' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l until -d 'Until then' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand export" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l hz -d 'Samples a second, 0.01 to 20' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -s n -l count -d 'End after so many lines' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l columns -d 'Columns in this order, such as cpu,sys,free; or \'wide\' for all [default: those that fit]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l csv -d 'Write comma-separated values: every line of the page under its name, in its own unit'
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand watch" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l hz -d 'Samples a second, 0.01 to 20' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l stacks -d 'How often a second and CPU the function that runs is sampled, 1 to 1000; 0: not at all' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l no-stalls -d 'Do not trace what holds tasks up'
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand top" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l against -d 'Another recording to set beside it: the page compares the two' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l format -d 'How to write it [default: by the ending of --output, else text; a recording is always HTML]' -r -f -a "text\t'For the terminal'
markdown\t'For a pull request or a mail'
html\t'One file with figures, for a browser'
json\t'Every number, for programs'
latex\t'A trial as tables for a paper'
text72\t'A trial as a mail of 72 columns'
r\t'A trial as an R script, data included, that computes every number again'
csv\t'A trial as a table with a row per run, as `pagewise analyze` reads it'"
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -s o -l output -d 'Write to this file instead of stdout; nothing is overwritten but an older page of pagewise [default for a recording on a terminal: its name with .html]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l value -d 'The column that is compared' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l compare -d 'Level B of a factor against level A; may be given several times' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l by -d 'Factors whose levels are kept apart (a comparison leaves out its own)' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l block -d 'The column that says which runs were made close together, which then decides; or none [default: block, where there is one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l order -d 'The column that says when each run was made: a number or a time [default: order, where there is one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l delimiter -d 'What separates the fields: a character, or comma, semicolon, tab, space or pipe [default: as the header says]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l direction -d 'Which way is better: lower or higher' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l margin -d 'Smaller differences do not matter' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l alpha -d 'Significance level, 0.05 or 5%; intervals are at 1 − ALPHA' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l format -d 'How to write it [default: table]' -r -f -a "table\t'For the terminal'
json\t'Every number, for programs'
r\t'As R prints t.test'
markdown\t'For a pull request'
latex\t'A booktabs table for a paper'
text72\t'72 columns for a mailing list'"
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l counters -d 'Compare these columns of numbers, too, or all; may be given several times' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l bootstrap -d 'Add a BCa bootstrap interval from so many resamples' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l seed -d 'Seed of what is resampled' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand analyze" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -f -a "run" -d 'Take page cache back before kswapd wakes, as long as a stream fills memory'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -f -a "advise" -d 'Decide what `run` would do, and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -f -a "prove" -d 'Prove what a guard gives, on whatever runs: blocks of time with and without it, in random order'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -f -a "status" -d 'Say who guards this host, and what that does now'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and not __fish_seen_subcommand_from run advise prove status simulate" -f -a "simulate" -d 'Try the guard\'s law, loops with a fixed period, and the kernel alone on a model of a node'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l node -d 'The memory node; every node with memory by default' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l cgroup -d 'Guard cgroups that have a limit instead, as they come and go: of this path within the memory hierarchy (/yarn/*), or without a slash of this name (pod*)' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l cpus -d 'CPUs that the guard may run on, such as 0,8-11' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l cpu-cap -d 'Most of a core that the guard of a node, or of a cgroup, may use, over ten seconds' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l batch -d 'A batch holds so many seconds of fill [default: 100ms; of a node whose free memory goes back to a hypervisor 5ms]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l for -d 'End after so long' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l law -d 'The guard\'s own law, or the published mechanism with its two numbers' -r -f -a "guard\t''
paper\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l threshold -d 'With --law paper: free memory below which it frees' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l amount -d 'With --law paper: what it frees at once' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l node -d 'The memory node; every node with memory by default' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l cgroup -d 'Guard cgroups that have a limit instead, as they come and go: of this path within the memory hierarchy (/yarn/*), or without a slash of this name (pod*)' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l cpus -d 'CPUs that the guard may run on, such as 0,8-11' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l cpu-cap -d 'Most of a core that the guard of a node, or of a cgroup, may use, over ten seconds' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l batch -d 'A batch holds so many seconds of fill [default: 100ms; of a node whose free memory goes back to a hypervisor 5ms]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l for -d 'End after so long' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l law -d 'The guard\'s own law, or the published mechanism with its two numbers' -r -f -a "guard\t''
paper\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l threshold -d 'With --law paper: free memory below which it frees' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l amount -d 'With --law paper: what it frees at once' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from advise" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l aa -d 'Both arms run under this one policy: shows this host\'s noise floor' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l margin -d 'Differences smaller than this do not matter [default: 2%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l direction -d 'Which way is better [default: lower]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l steal-limit -d 'A run does not count where the hypervisor took a larger share of the CPU time' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l seed -d 'Seed of the run order [default: drawn from the clock, and recorded]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l name -d 'Name of the trial; its bundle is NAME.trial in this folder' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l resume -d 'Continue a bundle that was interrupted, as it was planned' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l stacks -d 'Record where CPUs are, too: stacks HZ times a second and CPU, 1 to 1000 [19 if none is given]. The report then compares the arms function by function' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l fail-on -d 'Exit 1 on these verdicts' -r -f -a "better\t''
worse\t''
equivalent\t''
inconclusive\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l wait -d 'When another run has this host, wait until it ends, or for this time at most' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l hadoop -d 'Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l cluster-dir -d 'Where TeraSort\'s data lie in a cluster\'s file system, for mode=hadoop [default: pagewise]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l block -d 'Time that is measured in each block [default: 60s]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l settle -d 'Time after a switch until the new value acts [default: what its tunables need]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l washout -d 'Time after that until what the old value left has faded [default: what its tunables need]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l stop-if -d 'End and restore when a signal crosses this over five seconds: SIGNAL>NUMBER, several with commas; counts and times are per second' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l pid -d 'End when this process ends; it is left alone' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l a -d 'The base policy: [NAME:]TUNABLE=VALUE[,…], @FILE.toml, or \'now\'' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l timeout -d 'A run longer than this is stopped and counts as a result' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l pressure-limit -d 'A run waits until tasks of this host waited for memory, and for I/O, a smaller share of a second [default: 1%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l memory-drift-limit -d 'A run waits until as much memory is free or in caches as before the first run of its policy, but for this share [default: 5%]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l drop-caches -d 'Drop the page cache before each run (auto: only for built-in workloads)' -r -f -a "auto\t''
yes\t''
no\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l warm-memory -d 'Touch free memory before each run, this much at most: for virtual machines whose hypervisor takes free memory back' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l workload -d 'A built-in workload instead of a command' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l prepare -d 'Runs before each run of the command, untimed' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l verify -d 'Runs after each run, untimed; when it fails the run\'s result is \'wrong\'' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l clean -d 'Runs last after each run, untimed' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l b -d 'The guard that is judged [default: guard=on]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l pairs -d 'Pairs of blocks, one with the guard and one without; with --budget at most so many [default: 8]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l budget -d 'As many pairs as fit into this time' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l warmup -d 'Unanalysed blocks of each first [default: 0]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l metric -d 'What is compared: a signal of the host (system_share, psi_memory_full, allocation stalls, …), a command that prints a number when a block ends, rate:COMMAND for a counter, or regex:PATTERN:FILE for the lines a log grew by, such as the times of your job\'s steps [default: system_share]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l record -d 'Record the kernel\'s memory counters once a second while each run goes on, a file per run'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l stalls -d 'Record how long tasks are held up, too: by reclaim, compaction, throttling and dirty pages'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l dry-run -d 'Say what would be run and changed, and change nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l live -d 'Switch the policies in blocks of time while whatever runs goes on. Refuses what a running job would not notice. --metric is then a signal of the host (system_share, psi_memory_full, compact_stalls, …), a command that prints a number when a block ends, rate:COMMAND for a counter, or regex:PATTERN:FILE for the lines a log grew by. A job after -- is started first and ended with the proof'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l short-lived -d 'What runs is made of processes that end within a block, so settings of new memory (thp.enabled) can be switched'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from prove" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l size -d 'Memory of the node' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l fill -d 'What streams in, each second' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l cost -d 'CPU time to free a GiB; `guard run` says what it is on your host' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l reporting -d 'CPU time to touch a GiB that a hypervisor took back because it was free, where one does' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l duration -d 'How long' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l cpu-cap -d 'Most of a core the guard may use' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l seed -d 'Of bursts and late wake-ups' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand guard; and __fish_seen_subcommand_from simulate" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l pid -d 'The process' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l range -d 'Only memory between these addresses, such as 7f0000000000-7f0040000000; may be repeated' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l heap -d 'Of a JVM\'s heap the old generation alone (HotSpot: G1, Parallel, Serial)' -r -f -a "old\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l at-least -d 'Only mappings of at least so many bytes' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l min-present -d 'The part of each huge page that the process must have touched already; the rest becomes memory that it does not use' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l rate -d 'Huge pages a second: adaptive, so that the process keeps nine tenths of its progress, or a number' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l budget -d 'Stop where all processes of the host together hold so much on huge pages' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l list -d 'Say which processes hold most memory on small pages instead, and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l dry-run -d 'Say what would be done, and how much of what is huge already is zero, and do nothing'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l watch -d 'Go on: do it again every five seconds, until the process ends or Ctrl-C'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l split -d 'The opposite: split what lies on huge pages into small ones (debugfs, kernel 5.11 or newer)'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand hugepages" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -f -a "conf" -d 'Print the configuration that puts a part of Spark\'s memory on huge pages'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -f -a "check" -d 'Find what is wrong with the memory of a Spark job or JVM, with the fixed line'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and not __fish_seen_subcommand_from conf check advise" -f -a "advise" -d 'Say from the event log of a finished job which policy to try, and why'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l policy -d 'Which memory is to lie on huge pages; entire: the whole heap, by the JVM\'s own flag' -r -f -a "none\t''
storage\t''
execution\t''
both\t''
entire\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l against -d 'The policy that it will be compared with: young memory gets the limit that it has there' -r -f -a "none\t''
storage\t''
execution\t''
both\t''
entire\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l spark -d 'Spark\'s version, or the folder it was unpacked to [default: SPARK_HOME, then spark-submit on the PATH]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l jdk -d 'The JDK\'s version, or its folder [default: JAVA_HOME, then java on the PATH]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l heap -d 'The heap of a JVM that computes' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l mode -d 'Whether the plugin acts, or only reads what lies where' -r -f -a "enforce\t''
observe\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l jar -d 'Where the plugin\'s jar lies' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l format -d 'Options of spark-submit, or lines of spark-defaults.conf' -r -f -a "arguments\t''
properties\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l into -d 'Write DIR/spark-defaults.conf instead, for SPARK_CONF_DIR' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l executors -d 'For executors of a cluster; without it for local mode, where the driver computes'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from conf" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l event-log -d 'The event log of a job: a file, or a folder eventlog_v2_…' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l pid -d 'A JVM that runs: local mode\'s driver, or an executor' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l fail-on -d 'Exit 1 when a finding is at least this severe' -r -f -a "low\t''
medium\t''
high\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l event-log -d 'The event log of a job: a file, or a folder eventlog_v2_…' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand spark; and __fish_seen_subcommand_from advise" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -f -a "kernels" -d 'List kernels that can be booted, with what of memory management each has; or bring one of Debian\'s'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -f -a "boot" -d 'Boot a kernel in a virtual machine over this host\'s files, and run a command there'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and not __fish_seen_subcommand_from kernels boot image" -f -a "image" -d 'Make a disk with Debian, systemd, GRUB, kernels and pagewise, which boots by itself as a host does'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l get -d 'Bring this kernel first, such as debian:6.12' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l mirror -d 'Debian\'s mirror [default: the one of this host\'s own sources]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l memory -d 'Memory of the guest, fixed' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l cpus -d 'Processors of the guest' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l nodes -d 'NUMA nodes, over which memory and processors are spread' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l disk -d 'A raw image or a block device, which the guest may write; it is a virtio disk there, past the host\'s page cache' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l scratch -d 'An empty disk of this size, gone with the guest, takes what the guest writes; without it that lies in its memory' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l share -d 'A folder of this host that the guest may write, by the same path' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l append -d 'Parameters of the kernel' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l qemu-opts -d 'Further arguments of QEMU, quoted as for a shell' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l timeout -d 'End the guest after this time' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l mirror -d 'Debian\'s mirror [default: the one of this host\'s own sources]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l out -d 'Where the disk is written, a raw image; it is never overwritten' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l kernel -d 'A kernel of it, as often as wanted: debian:VERSION or an installed release [default: debian:6.1 and debian:6.12]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l suite -d 'Debian\'s release' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l size -d 'Its size; a file takes only what is written to it' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l with -d 'A further package, as often as wanted' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l program -d 'The program that is put in it [default: this one]; where this system is newer than the image\'s, one of `make static`' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l mirror -d 'Debian\'s mirror [default: the one of this host\'s own sources]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l java -d 'With a JDK\'s runtime, headless'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand lab; and __fish_seen_subcommand_from image" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -s h -l help -d 'Print help'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "terasort" -d 'Apache Hadoop\'s own TeraSort, each output checked by TeraValidate'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "jitter" -d 'A program beside a stream through the page cache, with the controls that tell reclaim from the rest'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "spark:micro" -d 'Objects of 4 KB cached by Spark, all visited, again and again'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "spark:kmeans" -d 'MLlib\'s k-means over points cached by Spark'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "spark:logistic" -d 'MLlib\'s logistic regression by gradient descent over points cached by Spark'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and not __fish_seen_subcommand_from terasort jitter spark:micro spark:kmeans spark:logistic spark:pagerank" -f -a "spark:pagerank" -d 'GraphX\'s PageRank on a graph whose degrees follow a power law'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l hadoop -d 'Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l cluster-dir -d 'Where TeraSort\'s data lie in a cluster\'s file system, for mode=hadoop [default: pagewise]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from terasort" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from jitter" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:micro" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:kmeans" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:logistic" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l spark -d 'Your own Spark release [default: SPARK_HOME, then the fetched one]' -r
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l color -d 'Use colour: auto, always or never (NO_COLOR is respected)' -r -f -a "auto\t''
always\t''
never\t''"
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l root -d 'Read another host\'s captured tree instead of this machine' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l state-dir -d 'Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l cache-dir -d 'Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]' -r -F
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l input -d 'With clean: remove the kept input, too'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -l json -d 'Write the result as JSON to stdout'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -s v -l verbose -d 'Say more on stderr (-vv: even more)'
complete -c pagewise -n "__fish_pagewise_using_subcommand workload; and __fish_seen_subcommand_from spark:pagerank" -s h -l help -d 'Print help (see more with \'--help\')'
