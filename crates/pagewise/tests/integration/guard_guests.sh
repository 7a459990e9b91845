# Runs as root in a guest: $1 is the program, $2 which cases: all, or those of the whole host. Says `RELEASE` and lines of
# `COUNT case|arm|name|value`.
pagewise=$1 cases=$2
export PAGEWISE_STATE_DIR=/tmp/state PAGEWISE_CACHE_DIR=/tmp/cache
mkdir -p /tmp/data /tmp/cache
echo "RELEASE $(uname -r)"
mkfs.ext4 -q /dev/vda && mount /dev/vda /tmp/data || exit 1
head -c 1400M /dev/zero >/tmp/data/file && sync
groups=/sys/fs/cgroup
grep -q "$groups cgroup2" /proc/mounts || mount -t cgroup2 none $groups || exit 1
echo +memory >$groups/cgroup.subtree_control

# Reads the file over and over for so many seconds, in a group where one is named.
stream() {
    perl -e '
        my ($seconds, $group) = @ARGV;
        if ($group) { open my $procs, ">", "$group/cgroup.procs" or die; print $procs $$; close $procs }
        my $end = time + $seconds;
        open my $file, "<", "/tmp/data/file" or die;
        while (time < $end) { sysread($file, my $piece, 1 << 20) or sysseek($file, 0, 0) }' "$@"
}

# Lines of a file with these names.
of() { awk -v names="^($2)\$" '$1 ~ names { print $1, $2 }' "$1"; }

group_counts() {
    of $1/memory.events 'high|max|oom'
    of /proc/vmstat pgpgin
}

host_counts() { of /proc/vmstat 'pgpgin|pgscan_kswapd|pgscan_direct|pgsteal_anon|pswpout'; }

# Takes 240 MB, a MB at a time, in eight seconds, and keeps them for so many more.
grow() {
    perl -e 'my @kept; for (1 .. 240) { push @kept, "x" x (1 << 20); select undef, undef, undef, 0.033 } sleep shift' "$1"
}

# What grew from one list of counts to the other.
grown() {
    awk -v of="$1" -v arm="$2" 'NR == FNR { before[$1] = $2; next } { print "COUNT " of "|" arm "|" $1 "|" $2 - before[$1] }' "$3" "$4"
}

# Case, whether it is of a group, whether a guard runs, and whether memory of programs grows meanwhile.
turn() {
    case=$1 group=$2 arm=$3 grows=$4
    if [ $arm = on ]; then
        "$pagewise" guard run ${group:+--cgroup job} --for 60s >/tmp/guard 2>&1 &
        guard=$!
        sleep 3
    fi
    # Memory has to be full, and the guard has to know the stream, before anything is counted.
    stream 20 $group &
    reader=$!
    sleep 12
    if [ -n "$group" ]; then group_counts $group; else host_counts; fi >/tmp/before
    [ -z "$grows" ] || { grow 2 & grower=$!; }
    wait $reader
    if [ -n "$group" ]; then group_counts $group; else host_counts; fi >/tmp/after
    grown "$case" $arm /tmp/before /tmp/after
    [ -z "$grows" ] || wait $grower
    if [ $arm = on ]; then
        kill -INT $guard
        wait $guard
        sed 's/^/# /' /tmp/guard | tail -n 12
    fi
    echo 1 >/proc/sys/vm/drop_caches
}

for knob in memory.max memory.high; do
    [ "$cases" = all ] || continue
    for arm in off on; do
        mkdir $groups/job && echo 150M >$groups/job/$knob
        turn $knob $groups/job $arm
        rmdir $groups/job
    done
done
lru=/sys/kernel/mm/lru_gen/enabled
for lists in n y; do
    name="whole host, two lists"
    if [ $lists = y ]; then
        [ -e $lru ] || continue
        name="whole host, generations"
    fi
    [ ! -e $lru ] || echo $lists >$lru
    for arm in off on; do turn "$name" "" $arm; done
done
[ "$cases" = all ] || exit 0
if [ -e $lru ]; then
    echo 1 >/proc/sys/vm/laptop_mode
    for arm in off on; do turn "laptop mode, generations" "" $arm; done
    echo 0 >/proc/sys/vm/laptop_mode
fi
head -c 400M /dev/zero >/tmp/data/swap && chmod 600 /tmp/data/swap && mkswap /tmp/data/swap >/dev/null && swapon /tmp/data/swap || exit 1
[ ! -e $lru ] || echo n >$lru
for arm in off on; do
    turn "programs grow, with swap" "" $arm grows
    swapoff /tmp/data/swap && swapon /tmp/data/swap
done
swapoff /tmp/data/swap
