//! Tests of what `top.rs` reads.

use super::super::tests::{near, recording, timed, values};
use super::super::{Imported, kinds_in, parse};
use super::*;
use crate::recording::Recorded;

const TOP: &str = include_str!("../../../../../recordings/imports/top.txt");

fn is_understood(imported: &Imported) -> bool {
    imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood)
}

#[test]
fn the_table_of_htop_is_that_of_top() {
    let text = "    PID USER       PRI  NI  VIRT   RES   SHR S  CPU% MEM%   TIME+ ▽Command\n\
                 97 root        20   0     0     0     0 R  57.0  0.0 49:42.98 kswapd0\n   \
                2065 intelfx     20   0 5812M  158M 74588 S  14.5  1.0 46:34.02 /usr/bin/gnome-shell\n";
    assert!(recognises(text.lines().next().unwrap()) && recognises("USER PID %CPU %MEM COMMAND"));
    let imported = recording(&[(Kind::Top, text)]);
    assert!(near(timed(&imported, "import", "thread_cpu_percent", "thread=kswapd0")[0].1, 0.57));
}

#[test]
fn lines_of_memory_alone_are_read_and_rows_of_programs_alone_are_refused_with_the_reason() {
    let memory = "KiB Mem : 32780852 total,   267268 free,   356752 used, 32156832 buff/cache\n\
                  KiB Swap:  4194300 total,  4194300 free,        0 used. 23003220 avail Mem\n";
    assert_eq!(kinds_in(memory), [Kind::Top]);
    let imported = recording(&[(Kind::Top, memory)]);
    assert_eq!(values(&imported, "meminfo", "MemFree")[0], 267_268.0 * 1024.0);
    let programs =
        "17917 redis     20   0 2310m 1.6g  424 D    5 41.3   0:00.61 /usr/bin/redis-server /etc/redis/redis.conf\n";
    let refused = parse(Kind::Top, programs, &Assumed::default()).expect_err("nothing of the host is in it");
    assert!(refused.what.contains("1 row of programs"), "{refused}");
}

#[test]
fn screens_of_top_without_the_shares_of_the_first() {
    let imported = recording(&[(Kind::Top, TOP)]);
    assert!(is_understood(&imported), "{:?}", imported.gaps());
    assert_eq!(imported.ticks(), 3);
    assert_eq!(values(&imported, SOURCE, "cpu_user_percent").len(), 2);
    assert_eq!(values(&imported, "meminfo", "MemTotal").len(), 3);
    assert_eq!(values(&imported, "meminfo", "MemFree")[0], (19_064.4 * 1024.0_f64).round() * 1024.0);
    assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "since_boot"));
    assert_eq!(values(&imported, SOURCE, "procs_running")[0], 1.0);
}

#[test]
fn heads_of_every_version_say_the_same() {
    for (head, memory) in [
        (
            "top - 14:03:21 up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\n\
             Tasks: 116 total,   2 running, 114 sleeping,   0 stopped,   0 zombie\n\
             Cpu(s): 10.5%us, 60.0%sy,  0.5%ni,  9.0%id, 15.0%wa,  1.0%hi,  3.0%si,  1.0%st\n\
             Mem:   1030760k total,  1020000k used,    10760k free,    12000k buffers\n\
             Swap:  2096440k total,      440k used,  2096000k free,   500000k cached\n",
            "Buffers",
        ),
        (
            "top - 14:03:21 up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\n\
             Tasks: 116 total,   2 running, 114 sleeping,   0 stopped,   0 zombie\n\
             Cpu(s): 10.5% us, 60.0% sy,  0.5% ni,  9.0% id, 15.0% wa,  1.0% hi,  3.0% si,  1.0% st\n\
             Mem:   1030760k total,  1020000k used,    10760k free,    12000k buffers\n\
             Swap:  2096440k total,      440k used,  2096000k free,   500000k cached\n",
            "Buffers",
        ),
        (
            "top - 14:03:21 up 3 days,  2:03,  5 users,  load average: 1,20, 3,40, 5,60\n\
             Tasks: 116 total,   2 running, 114 sleeping,   0 stopped,   0 zombie\n\
             %Cpu(s): 10,5 us, 60,0 sy,  0,5 ni,  9,0 id, 15,0 wa,  1,0 hi,  3,0 si,  1,0 st\n\
             KiB Mem :  1030760 total,    10760 free,   508000 used,   512000 buff/cache\n\
             KiB Swap:  2096440 total,  2096000 free,      440 used.   800000 avail Mem \n",
            "MemAvailable",
        ),
        (
            " 14:03:21  up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\n\
             116 processes: 114 sleeping, 2 running, 0 zombie, 0 stopped\n\
             CPU states:  cpu    user    nice  system    irq  softirq  iowait    idle\n           \
             total   10.5%    0.5%   60.0%   1.0%     3.0%   15.0%    9.0%\n\
             Mem:  1030760k av, 1020000k used,   10760k free,       0k shrd,   12000k buff\n\
             Swap: 2096440k av,     440k used, 2096000k free                  500000k cached\n",
            "Buffers",
        ),
    ] {
        let table = "\n  PID USER      PR  NI  VIRT  RES  SHR S %CPU %MEM    TIME+  COMMAND\n\
                     341 root      20   0     0    0    0 R 99.9  0.0  90:11.20 kswapd0\n\
                     999 postgres  20   0  9000  900    0 R 99.9  0.0  90:11.20 kswapd1\n\
                     1000 root      20   0  9000  900    0 S  0.0  0.0  90:11.20 sshd\n";
        let imported = recording(&[(Kind::Top, &format!("{head}{table}"))]);
        assert!(is_understood(&imported), "{head}: {:?}", imported.gaps());
        assert!(near(values(&imported, SOURCE, "cpu_system_percent")[0], 0.64), "{head}");
        assert!(near(values(&imported, SOURCE, "cpu_busy_percent")[0], 0.75), "{head}");
        assert!(near(values(&imported, SOURCE, "cpu_iowait_percent")[0], 0.15), "{head}");
        assert_eq!(values(&imported, "meminfo", "MemFree"), [10_760.0 * 1024.0], "{head}");
        assert_eq!(values(&imported, "meminfo", "SwapFree"), [2_096_000.0 * 1024.0], "{head}");
        assert_eq!(values(&imported, "meminfo", memory).len(), 1, "{head}");
        assert_eq!(values(&imported, SOURCE, "procs_running"), [2.0], "{head}");
        assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.999), "{head}");
        assert!(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd1").is_empty(), "a program: {head}");
        let said = imported.marks().unwrap();
        assert!(said.iter().any(|mark| mark.text.contains("there is one screen")), "{head}");
        assert!(said.iter().any(|mark| mark.text.contains("the name of a kernel thread")), "{head}");
        assert_eq!(kinds_in(&format!("{head}{table}")), [Kind::Top]);
    }
}

#[test]
fn what_programs_have_at_most_is_known_of_a_table_that_is_whole_or_sorted_by_it() {
    let head = |tasks: usize| {
        format!(
            "top - 14:03:21 up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\nTasks: {tasks} total,   1 running\n\
             KiB Mem : 32761856 total,  5595952 free, 25024292 used,  2141612 buff/cache\n\n  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n"
        )
    };
    let rows = |sizes: &[&str]| -> String {
        let row = |(at, size): (usize, &&str)| {
            let user = if at == 0 { "root" } else { "db" };
            format!("{:5} {user} 20 0 9g {size} 10 S 0.0 0.0 1:00.00 job{at}\n", at + 100)
        };
        sizes.iter().enumerate().map(row).collect()
    };
    let most = |text: String| values(&recording(&[(Kind::Top, &text)]), SOURCE, "programs_at_most");
    let sorted = rows(&["1.0g", "512m", "7000", "6000", "5000", "4000", "3000", "2000", "1000"])
        .replace("job3", "systemd-journal");
    let mib = |mib: f64| mib * 1_048_576.0;
    let none_has_more = mib(1536.0) + (28_000.0 + 196.0 * 1000.0) * 1024.0;
    assert_eq!(most(head(205) + &sorted), [none_has_more], "than the last");
    assert!(most(head(20) + &sorted).is_empty(), "top -p");
    assert!(most(head(205) + &sorted.replace("systemd-journal", "job3")).is_empty(), "it may be a container's");
    assert!(most(head(205) + &sorted.replace("1.0g", "1000")).is_empty(), "it is not sorted");
    assert!(most(head(205) + &sorted.replace("root", "db")).is_empty(), "one user's");
    let idle = rows(&["1.0g", "5000", "0", "0", "0", "0", "0", "0", "0", "0"]).replace("job1", "systemd");
    assert!(most(head(205) + &idle).is_empty(), "what comes behind has memory, too");
    let whole = head(90) + &rows(&["1000"; 89]) + "    9 root 20 0 0 0 0 S 0.0 0.0 1:00.00 kswapd0\n";
    assert_eq!(most(whole), [89_000.0 * 1024.0]);
}

#[test]
fn what_people_pasted() {
    let first = |text: &str, name: &str| values(&recording(&[(Kind::Top, text)]), SOURCE, name)[0];
    let glued = "%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n";
    assert!(near(first(glued, "cpu_idle_percent"), 1.0));
    let large = "00:14:08 up 9 days, 23:46, 26 users load average: 1.20, 3.87, 8.11\n\
                 CPU(s): 8.7%us, 0.7%sy, 0.0%ni, 89.7%id, 0.6%wa, 0.1%hi, 0.0%si\nMem:    48168M total, 48015M used,   152M free,  173M buffers\n";
    assert!(near(first(large, "cpu_system_percent"), 0.008));
    let old = "  1:49pm  up 20:16,  2 users,  load average: 1.13, 1.02, 0.97\n\
               CPU0 states: 99.0% user,  0.1% system, 99.0% nice,  0.0% idle\n\
               CPU1 states:  0.1% user,  4.0% system,  0.0% nice, 94.0% idle\n";
    let imported = recording(&[(Kind::Top, old)]);
    let busy = timed(&imported, SOURCE, "cpu_busy_percent", "")[0];
    assert!(near(busy.1, (0.991 + 0.041) / 2.0), "{busy:?}");
    assert_eq!(busy.0.cast_signed(), (13 * 60 + 49) * 60 * SECOND);
    let busybox = " PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n   \
                   32     2 root     RW       0  0.0   0 49.9 [kswapd0]\n  \
                   613     1 root     S    1409m 84.7   1  4.5 /usr/lib/xbmc/xbmc.bin --standalone -fs\n";
    let imported = recording(&[(Kind::Top, busybox)]);
    assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.998), "of two CPUs");
    let short =
        "  PID USER      S %CPU %MEM    TIME+  SWAP COMMAND\n  420 root      R   70  0.0  22:09.60    0 kswapd0\n";
    let imported = recording(&[(Kind::Top, short)]);
    assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.7));
}

#[test]
fn lines_of_the_kernels_log_are_no_shares() {
    for line in ["CPU    0: hi:  186, btch:  31 usd: 208", "CPU: 0 PID: 0 Comm: swapper/0 Not tainted 3.10.53 #1"] {
        assert!(!recognises(line), "{line}");
    }
    assert!(recognises("Cpu(s): 10.5%us, 60.0%sy,  0.5%ni,  9.0%id"));
}

#[test]
fn rows_without_their_headings_are_read_by_their_form() {
    for (text, share) in [
        ("     70 root      39  19       0      0      0 R 100.0   0.0 959:29.92 khugepaged\n", 1.0),
        (
            " 310936 root      20   0   84416  25620    512 R  99.7   1.5 642:37.22 hugealloc\n     70 root      39  19       0      0      0 R  70.0   0.0 959:29.92 khugepaged\n",
            0.7,
        ),
        ("root        70 99.9  0.0      0     0 ?        R    Jan01 1234:56 [khugepaged]\n", 0.999),
        (
            "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot        70 80.0  0.0      0     0 ?        R    Jan01 1234:56 [khugepaged]\n",
            0.8,
        ),
    ] {
        assert_eq!(kinds_in(text), [Kind::Top], "{text}");
        let imported = recording(&[(Kind::Top, text)]);
        let found = timed(&imported, SOURCE, "thread_cpu_percent", "thread=khugepaged");
        assert!(near(found[0].1, share) && is_understood(&imported), "{found:?} {text}");
    }
    for line in ["70 root 39 19 0 0", "root 70 a b 0 0 ? R Jan01 1:00 [x]", "70 root 39 19 0 0 0 R 1.0 0.0 x y"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(!is_row_of_ps(&words) && !is_default_row(&words), "{line}");
    }
}

#[test]
fn busybox_and_single_cpus() {
    let busybox = "Mem: 1020000K used, 10760K free, 0K shrd, 12000K buff, 500000K cached\n\
                   CPU:   2% usr  61% sys   0% nic  30% idle   5% io   1% irq   1% sirq\n\
                   Load average: 1.20 3.40 5.60 2/116 999\n";
    let imported = recording(&[(Kind::Top, busybox)]);
    assert!(near(values(&imported, SOURCE, "cpu_system_percent")[0], 0.63));
    assert_eq!(values(&imported, "meminfo", "Cached"), [500_000.0 * 1024.0]);
    let single = "top - 14:03:21 up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\n\
                  %Cpu0  : 10.0 us, 20.0 sy,  0.0 ni, 70.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
                  %Cpu1  : 30.0 us, 40.0 sy,  0.0 ni, 30.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n";
    assert!(near(values(&recording(&[(Kind::Top, single)]), SOURCE, "cpu_system_percent")[0], 0.30));
    assert!(parse(Kind::Top, "nothing\n", &Assumed::default()).is_err());
}
