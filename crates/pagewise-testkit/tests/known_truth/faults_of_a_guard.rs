//! `docs/reference/guard-faults.md`: what a guard must survive, how it does, and the tests that hold it to that. A test that is named here and does
//! not exist fails this one.

use std::fs;
use std::path::{Path, PathBuf};

struct Fault {
    number: u32,
    what: &'static str,
    answer: &'static str,
    tests: &'static [&'static str],
    /// What is not shown, and where it will be.
    lacks: &'static str,
}

const fn fault(
    number: u32,
    what: &'static str,
    answer: &'static str,
    tests: &'static [&'static str],
    lacks: &'static str,
) -> Fault {
    Fault { number, what, answer, tests, lacks }
}

const FAULTS: &[Fault] = &[
    fault(
        1,
        "a reclaim write blocks for seconds",
        "slices of four milliseconds bound what is asked for; a request that the kernel holds for 250 ms is interrupted, and counts as refused",
        &["a_request_that_hangs_is_given_up_within_its_deadline", "a_wait_ends_with_its_deadline_and_others_go_on"],
        "`fadvise` waits for no disk, and is not interrupted",
    ),
    fault(
        2,
        "the kernel answers EAGAIN",
        "what counts is what its counters say: another way is asked where there is one, and after three batches with next to nothing the guard stands down",
        &[
            "a_back_end_that_gives_nothing_is_not_asked_for_ever",
            "a_way_that_gives_nothing_makes_room_for_the_next_and_is_tried_again_later",
        ],
        "",
    ),
    fault(
        3,
        "success without work",
        "the same: an answer is not believed, the counters are",
        &["a_back_end_that_gives_nothing_is_not_asked_for_ever", "the_file_of_this_host_does_as_it_should"],
        "",
    ),
    fault(
        4,
        "another reclaimer on the node",
        "the second writer gets EAGAIN, and stands down as above; it is not told apart",
        &["a_back_end_that_gives_nothing_is_not_asked_for_ever"],
        "told apart: open",
    ),
    fault(
        5,
        "an administrator changes settings meanwhile",
        "the guard has none of its own: watermarks are read at every sample, nothing is written but requests",
        &["a_watermark_that_rises_meanwhile_is_answered_at_the_next_sample"],
        "",
    ),
    fault(
        6,
        "the shortage is of anonymous memory",
        "left to kswapd",
        &["a_shortage_of_anonymous_memory_is_left_to_the_kernel"],
        "",
    ),
    fault(
        7,
        "a stream while anonymous memory grows",
        "left to kswapd below 60 % page cache; nothing is swapped out",
        &[
            "a_shortage_of_anonymous_memory_is_left_to_the_kernel",
            "it_takes_what_a_stream_leaves_and_nothing_once_it_is_gone",
        ],
        "with swap: the lab",
    ),
    fault(
        8,
        "file cache near the high watermarks",
        "refused: the kernel would take anonymous memory",
        &["near_the_high_watermarks_a_node_is_not_touched_and_a_cgroup_has_none"],
        "",
    ),
    fault(
        9,
        "a hot cache of others",
        "what comes back makes batches smaller, then stands the guard down; a stream's own trail leaves others alone; what the kernel evicted for itself is not held against the guard",
        &[
            "what_comes_back_much_is_left_alone",
            "what_comes_back_brakes_and_what_does_not_lets_go",
            "what_another_reader_wants_again_has_come_back",
            "what_the_kernel_evicts_for_itself_and_needs_again_is_not_held_against_what_was_taken_out_of_files",
        ],
        "its hit ratio: the benchmark",
    ),
    fault(
        10,
        "a stream that goes around, larger than memory",
        "is no hot set",
        &["a_stream_that_goes_around_is_followed_over_the_end_and_nothing_comes_back"],
        "",
    ),
    fault(
        11,
        "a stream that goes around and fits",
        "is left in memory: nothing is short",
        &["a_file_that_is_all_there_is_no_stream"],
        "",
    ),
    fault(
        12,
        "a writer",
        "left alone, with advice to begin writeback sooner",
        &["what_is_dirty_or_hardly_there_is_not_taken"],
        "",
    ),
    fault(
        13,
        "many small files",
        "they leave no trail: the streamer's cgroup is asked, then the node; what freeing costs is learnt; beyond the cap the guard says so",
        &[
            "freeing_is_learnt_from_slices_that_were_not_held_up",
            "the_cap_holds_whatever_is_asked",
            "the_guard_is_tried_in_guests",
        ],
        "",
    ),
    fault(
        14,
        "a stream through mmap",
        "mapped pages are kept by fadvise; the kernel's lists give them once they are old, and where they give next to nothing the guard stands down",
        &["what_a_stream_maps_is_taken_only_when_the_kernel_finds_it_old"],
        "",
    ),
    fault(
        15,
        "what looks like cache and cannot be had",
        "shared memory is counted as anonymous; files of tmpfs are not followed; three batches without progress end it",
        &["a_back_end_that_gives_nothing_is_not_asked_for_ever"],
        "",
    ),
    fault(
        16,
        "several nodes, nodes without memory",
        "each has its own law; only nodes with memory are taken",
        &["a_node_that_is_not_there_is_an_error", "the_guard_is_tried_in_guests"],
        "nodes without memory",
    ),
    fault(
        17,
        "movable and hot-plugged memory",
        "headroom is counted by zone",
        &["free_memory_of_one_zone_does_not_hide_that_another_is_short"],
        "on such hosts: the lab",
    ),
    fault(
        18,
        "no right, old kernel, container",
        "a message that says what is missing, and status 3; `advise` needs no right",
        &["a_node_that_is_not_there_cannot_be_reclaimed_from", "what_cannot_be_guarded_is_refused_with_the_option"],
        "",
    ),
    fault(
        19,
        "hardening of the unit",
        "the unit in packaging/ names what must stay open",
        &["a_trial_boots_its_host_by_itself_and_ends_with_every_run_once"],
        "",
    ),
    fault(
        20,
        "the guard itself short of memory",
        "all of it locked; after its start its loop allocates nothing",
        &["after_its_start_the_loop_allocates_nothing"],
        "",
    ),
    fault(
        21,
        "stopped, or without a CPU, for long",
        "after a second's gap it begins anew",
        &["who_was_away_starts_anew"],
        "",
    ),
    fault(
        22,
        "killed at any moment",
        "nothing to put back; what holds it ends with its owner",
        &[
            "it_takes_what_a_stream_leaves_and_nothing_once_it_is_gone",
            "as_a_level_of_a_trial_it_is_there_in_its_own_runs_and_ends_with_whoever_held_it",
        ],
        "",
    ),
    fault(
        23,
        "counters that wrap, are missing, or are absurd",
        "every decision stays within its bounds",
        &["whatever_the_counters_say_it_decides_within_its_bounds"],
        "",
    ),
    fault(24, "the clock is set", "only CLOCK_MONOTONIC is read", &["who_was_away_starts_anew"], ""),
    fault(
        25,
        "a fill faster than it can free",
        "refused, with the cores it would take",
        &[
            "a_fill_that_needs_more_than_the_cap_is_refused_with_its_cores",
            "the_guard_crosses_less_than_a_loop_and_stands_down_where_it_cannot_keep_up",
        ],
        "",
    ),
    fault(
        26,
        "laptop mode with MGLRU",
        "no progress ends it",
        &["a_back_end_that_gives_nothing_is_not_asked_for_ever"],
        "on such kernels: the lab",
    ),
    fault(
        27,
        "a hypervisor that takes free memory back",
        "kernel time for every GiB with the guard against without; it stands down",
        &[
            "filling_that_is_dearer_with_the_guard_is_told_in_most_of_three_windows",
            "a_host_that_takes_free_memory_back_is_never_worse_off_with_the_guard",
        ],
        "",
    ),
    fault(
        28,
        "watermarks change meanwhile",
        "read at every sample",
        &["a_watermark_that_rises_meanwhile_is_answered_at_the_next_sample"],
        "",
    ),
    fault(
        29,
        "a thousand cgroups",
        "one thread looks at all of them, each when its own law wants that",
        &["a_cgroup_that_comes_and_goes_a_thousand_times_is_survived"],
        "",
    ),
    fault(
        30,
        "a flood of lines",
        "a line in five seconds for each domain at most; how many changes went unsaid stands in the next",
        &["a_line_in_five_seconds_is_the_most_that_is_said_of_a_domain"],
        "",
    ),
    fault(
        31,
        "a cgroup goes while it is guarded",
        "it is forgotten, its files are closed",
        &[
            "a_cgroup_that_comes_and_goes_a_thousand_times_is_survived",
            "a_cgroup_is_kept_away_from_its_limit_and_the_guard_says_so_to_who_asks",
        ],
        "",
    ),
    fault(
        32,
        "systemd-oomd sees its reclaim as pressure",
        "the unit asks to be left out",
        &[],
        "beside a systemd-oomd that runs",
    ),
    fault(
        33,
        "root without some capabilities",
        "memory that cannot be locked is told and not fatal; so is that files of other processes cannot be seen; both are gone on without",
        &["root_without_some_capabilities_is_told_what_it_lacks_and_goes_on"],
        "",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All of our sources.
fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

fn page() -> String {
    let mut text = String::from(
        "# What a guard survives\n\n\
         Every fault that a guard of page cache was seen to meet elsewhere, what this one does, and the tests that hold it to that (`make test \
         NAME=…`). What is open is said.\n\n\
         | | fault | what it does | held by | not shown |\n| --- | --- | --- | --- | --- |\n",
    );
    for Fault { number, what, answer, tests, lacks } in FAULTS {
        let tests: Vec<String> = tests.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!("| {number} | {what} | {answer} | {} | {lacks} |\n", tests.join(", ")));
    }
    text
}

#[test]
fn every_test_that_a_fault_names_exists_and_what_has_none_says_so() {
    let mut all = String::new();
    sources(&root().join("crates"), &mut all);
    for Fault { number, tests, lacks, .. } in FAULTS {
        for name in *tests {
            assert!(all.contains(&format!("fn {name}(")), "fault {number}: there is no test {name}");
        }
        assert!(!tests.is_empty() || !lacks.is_empty(), "fault {number} has neither a test nor a reason");
    }
    assert!(FAULTS.iter().map(|fault| fault.number).eq(1..=33));
}

#[test]
fn the_faults_in_the_reference_are_these() {
    let file = root().join("docs/reference/guard-faults.md");
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, page()).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), page(), "`make docs` writes it again");
}
