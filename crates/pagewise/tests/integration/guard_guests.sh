# Runs as root in a guest: $1 is the program, $2 the number of memory nodes, $3 a folder with the programs of an NFS server where files from elsewhere
# are the question. Says `RELEASE` and lines of `COUNT case|arm|name|value`.
pagewise=$1 nodes=$2 nfs=$3
export PAGEWISE_STATE_DIR=/tmp/state PAGEWISE_CACHE_DIR=/tmp/cache
mkdir -p /tmp/data /tmp/cache
echo "RELEASE $(uname -r)"
mkfs.ext4 -q /dev/vda && mount /dev/vda /tmp/data || exit 1
head -c 1400M /dev/zero >/tmp/data/file && sync
groups=/sys/fs/cgroup
grep -q debugfs /proc/mounts || mount -t debugfs none /sys/kernel/debug
head -c 128M /dev/zero >/tmp/data/swap && chmod 600 /tmp/data/swap && mkswap /tmp/data/swap >/dev/null || exit 1
grep -q "$groups cgroup2" /proc/mounts || mount -t cgroup2 none $groups || exit 1
echo +memory >$groups/cgroup.subtree_control

# Files of 2 MiB: whoever reads them leaves no trail in any that could be followed.
mkdir /tmp/data/many
for file in $(seq 700); do head -c 2M /dev/zero >/tmp/data/many/$file; done
sync

# Reads the files that are named first over and over for so many seconds at most, in a group where one is named. In place of the shell that runs it.
stream() {
    exec perl -MPOSIX= -e '
        my ($names, $seconds, $group) = @ARGV;
        if ($group) { open my $procs, ">", "$group/cgroup.procs" or die; print $procs $$; close $procs }
        my @names = glob $names;
        die "no files are at $names" if !@names || !-e $names[0];
        # Ticks of the clock that nobody sets.
        sub now { (POSIX::times())[0] }
        my $end = now() + $seconds * POSIX::sysconf(POSIX::_SC_CLK_TCK());
        # One file stays open, for whoever closes it is a new stream each time.
        my $one;
        while (now() < $end) {
            for my $name (@names) {
                open $one, "<", $name or die unless @names == 1 and $one;
                sysseek($one, 0, 0);
                1 while now() < $end and sysread($one, my $piece, 1 << 20);
            }
        }' "$@"
}

# Lines of a file with these names.
of() { awk -v names="^($2)\$" '$1 ~ names { print $1, $2 }' "$1"; }

# KiB that a process has read, from wherever.
has_read() { awk '$1 == "rchar:" { printf "read %d\n", $2 / 1024 }' /proc/$1/io; }

# A group or none, and the process that streams.
counts() {
    if [ -n "$1" ]; then
        of $1/memory.events 'high|max|oom'
    else
        of /proc/vmstat 'pgscan_kswapd|pgscan_direct|pgsteal_anon|allocstall_[a-z]*'
    fi
    of /proc/vmstat pgpgin
    has_read $2
}

# What grew from one list of counts to the other.
grown() {
    awk -v of="$1" -v arm="$2" 'NR == FNR { before[$1] = $2; next } { print "COUNT " of "|" arm "|" $1 "|" $2 - before[$1] }' "$3" "$4"
}

# Case, the group with a limit that is guarded, whether a guard runs, which files are read, and a group for who reads them.
turn() {
    case=$1 group=$2 arm=$3 files=${4:-/tmp/data/file} reads_in=${5:-$2}
    if [ $arm = on ]; then
        : >/tmp/guard
        "$pagewise" guard run --json ${group:+--cgroup job} --for 90s >/tmp/guard.json 2>/tmp/guard &
        guard=$!
        # The first time the program comes through the emulated processor page by page.
        for second in $(seq 60); do
            ! grep -q '^guarding' /tmp/guard || break
            sleep 1
        done
    fi
    # Memory has to be full, and the guard has to know the stream, before anything is counted; some 20 s later it may let the kernel reclaim once
    # more, to compare.
    stream "$files" 90 $reads_in &
    reader=$!
    sleep 18
    counts "$group" $reader >/tmp/before
    sleep 8
    counts "$group" $reader >/tmp/after
    kill $reader
    wait $reader
    grown "$case" $arm /tmp/before /tmp/after
    if [ $arm = on ]; then
        kill -INT $guard
        wait $guard
        for count in taken taken_behind_streams taken_of_streams_cgroup; do
            sed -n "s/.*\"$count\": *\([0-9]*\).*/COUNT $case|on|$count|\1/p" /tmp/guard.json
        done
        sed 's/^/# /' /tmp/guard | tail -n 12
    fi
    echo 1 >/proc/sys/vm/drop_caches
}

# Two lists (n) or the generations of MGLRU (y), and what a case of the whole host is called then.
lru=/sys/kernel/mm/lru_gen/enabled
with_lists() {
    lists=$1
    [ ! -e $lru ] || echo $lists >$lru
    name="whole host, two lists"
    [ $lists = n ] || name="whole host, generations"
}

# Files that come from elsewhere: by a server of this very guest, whose threads read them from the disk, and from the host; and a disk's file beside
# the kernel's own way to free memory before it is short.
if [ -n "$nfs" ]; then
    export LD_LIBRARY_PATH=$nfs/usr/lib/x86_64-linux-gnu:$nfs/lib/x86_64-linux-gnu
    PATH=$nfs/usr/sbin:$PATH
    modprobe nfsd && modprobe nfsv4 && ip link set lo up || exit 1
    mkdir -p /tmp/far /var/lib/nfs/v4recovery && touch /etc/exports /var/lib/nfs/etab || exit 1
    mount -t nfsd nfsd /proc/fs/nfsd || exit 1
    rpc.mountd -N 3 && exportfs -o ro,fsid=0,no_subtree_check,insecure '*:/tmp/data' && rpc.nfsd -N 3 4 || exit 1
    # Nobody had a file open before: who opens one need not wait for a minute and a half.
    echo Y >/proc/fs/nfsd/v4_end_grace
    # What belongs to the guard is not linked with the server's libraries.
    unset LD_LIBRARY_PATH
    for lists in n y; do
        with_lists $lists
        mount -i -t nfs4 -o ro,addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2 127.0.0.1:/ /tmp/far || exit 1
        for arm in off on; do turn "$name, a file over NFS" "" $arm /tmp/far/file; done
        umount /tmp/far
        mount -t virtiofs pagewise /tmp/far || exit 1
        for arm in off on; do turn "$name, a file over virtiofs" "" $arm /tmp/far/file; done
        umount /tmp/far
    done
    echo Y >/sys/module/damon_reclaim/parameters/enabled
    for arm in off on; do turn "$name, beside DAMON_RECLAIM" "" $arm; done
    exit 0
fi

for knob in memory.max memory.high; do
    [ $nodes = 1 ] || continue
    for arm in off on; do
        mkdir $groups/job && echo 150M >$groups/job/$knob
        turn $knob $groups/job $arm
        rmdir $groups/job
    done
done
for lists in n y; do
    [ $lists = n ] || [ -e $lru ] || continue
    with_lists $lists
    for arm in off on; do turn "$name" "" $arm; done
    # Generations alone are of a node where there are two.
    [ $nodes = 1 ] || [ $lists = y ] || continue
    for arm in off on; do turn "$name, many files" "" $arm "/tmp/data/many/*"; done
    [ $nodes = 1 ] || continue
    mkdir $groups/streams
    for arm in off on; do turn "$name, many files, a group of their own" "" $arm "/tmp/data/many/*" $groups/streams; done
    rmdir $groups/streams
    # Where it cannot be told to leave anonymous memory alone, as in 6.1, memory.reclaim is of no use once there is swap.
    [ $lists = y ] || (echo "0 swappiness=0" >$groups/memory.reclaim) 2>/dev/null || continue
    swapon /tmp/data/swap
    for arm in off on; do turn "$name, many files, swap" "" $arm "/tmp/data/many/*"; done
    swapoff /tmp/data/swap
done
