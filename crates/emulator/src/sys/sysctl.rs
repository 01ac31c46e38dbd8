//! Settings of the kernel below `/proc/sys`, of the namespace of the calling thread.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

fn proc_path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// Writes a setting such as `net.ipv4.tcp_ecn`.
///
/// # Errors
/// If this kernel lacks the setting, or refuses the value or the writer. The error names the setting.
pub fn set(name: &str, value: &str) -> io::Result<()> {
    let written = OpenOptions::new().write(true).open(proc_path(name)).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|why| io::Error::new(why.kind(), format!("{name} = {value}: {why}")))
}

/// Reads a setting.
///
/// # Errors
/// If this kernel lacks the setting, which the error names.
pub fn get(name: &str) -> io::Result<String> {
    let text = fs::read_to_string(proc_path(name)).map_err(|why| io::Error::new(why.kind(), format!("{name}: {why}")))?;
    Ok(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}
