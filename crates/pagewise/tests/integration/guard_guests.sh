# Runs as root in a guest: $1 is the program, $2 the number of memory nodes. Says `RELEASE` and lines of `COUNT case|arm|name|value`.
pagewise=$1 nodes=$2
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

host_counts() { of /proc/vmstat 'pgpgin|pgscan_kswapd|pgscan_direct|pgsteal_anon'; }

# What grew from one list of counts to the other.
grown() {
    awk -v of="$1" -v arm="$2" 'NR == FNR { before[$1] = $2; next } { print "COUNT " of "|" arm "|" $1 "|" $2 - before[$1] }' "$3" "$4"
}

# Case, whether it is of a group, and whether a guard runs.
turn() {
    case=$1 group=$2 arm=$3
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
    wait $reader
    if [ -n "$group" ]; then group_counts $group; else host_counts; fi >/tmp/after
    grown "$case" $arm /tmp/before /tmp/after
    if [ $arm = on ]; then
        kill -INT $guard
        wait $guard
        sed 's/^/# /' /tmp/guard | tail -n 12
    fi
    echo 1 >/proc/sys/vm/drop_caches
}

for knob in memory.max memory.high; do
    [ $nodes = 1 ] || continue
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
