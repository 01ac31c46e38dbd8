//! Captures of runs, read by this project and by others.

use std::io::Write;
use std::process::{Command, Stdio};

use ecnlab_wire::{Reader, TraceEvent};

pub fn events(bytes: &[u8]) -> Vec<TraceEvent> {
    Reader::from_reader(bytes).unwrap().map(Result::unwrap).collect()
}

/// Output of tshark for a capture with all checksums verified; none if tshark is not installed.
pub fn tshark(bytes: &[u8], arguments: &[&str]) -> Option<Vec<u8>> {
    let checked = ["-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    let mut tshark =
        command.args(checked).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let (mut input, bytes) = (tshark.stdin.take().unwrap(), bytes.to_vec());
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = tshark.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}
