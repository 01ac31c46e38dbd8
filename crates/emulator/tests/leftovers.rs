//! Whatever ends a program, nothing of its hosts is left: no namespace, no device.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ecnlab_emulator::address::{AddressFamily, Side};
use ecnlab_emulator::host::{Host, HostSpec};

const CHILD: &str = "ECNLAB_TEST_MAKES_HOSTS";

fn namespace() -> String {
    fs::read_link("/proc/thread-self/ns/net").unwrap().to_string_lossy().into_owned()
}

/// The network namespaces that a process or one of its threads is in, or holds open.
fn alive() -> BTreeSet<String> {
    let numbered = |folder: &str| fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = BTreeSet::new();
    for process in numbered("/proc").filter(|path| path.join("task").exists()) {
        let threads = numbered(&process.join("task").to_string_lossy()).map(|thread| thread.join("ns/net"));
        let held = numbered(&process.join("fd").to_string_lossy());
        found.extend(threads.chain(held).filter_map(|link| Some(fs::read_link(link).ok()?.to_string_lossy().into_owned())));
    }
    found.retain(|link| link.starts_with("net:"));
    found
}

/// What the child does: makes hosts, tells their namespaces, and waits to be killed.
fn make_and_wait() -> ! {
    let mut hosts = Vec::new();
    for side in [Side::Near, Side::Far] {
        match Host::create(&HostSpec { family: AddressFamily::V4, side, mtu: 1500, ..HostSpec::default() }) {
            Ok(host) => {
                println!("has {}", host.namespace.run_inside(|| Ok(namespace())).unwrap());
                hosts.push(host);
            }
            Err(why) => println!("skipped: {why}"),
        }
    }
    println!("done");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_program_leaves_no_namespace_and_no_device() {
    if std::env::var_os(CHILD).is_some() {
        make_and_wait();
    }
    let named = || fs::read_dir("/run/netns").map_or(0, Iterator::count);
    let devices = || fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let before = (named(), devices());
    let name = "a_killed_program_leaves_no_namespace_and_no_device";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told: Vec<String> = lines.take_while(|line| line != "done").collect();
    let made: BTreeSet<String> = told.iter().filter_map(|line| Some(line.split_once("has ")?.1.to_owned())).collect();
    told.iter().filter(|line| line.contains("skipped")).for_each(|line| println!("{line}"));
    assert!(made.is_subset(&alive()), "they are there while the program is: {made:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    while made.iter().any(|namespace| alive().contains(namespace)) {
        assert!(began.elapsed() < Duration::from_secs(5), "a namespace has outlived its program");
        std::thread::yield_now();
    }
    assert_eq!(before, (named(), devices()));
}
