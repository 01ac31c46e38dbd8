//! Settings of the kernel under `/proc/sys`, of the namespace that the calling thread is in.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

fn proc_path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// Writes `net.ipv4.tcp_ecn` and the like.
///
/// # Errors
/// With the setting's name, if this kernel has none of the name, or refuses the value or the writer.
pub fn set(name: &str, value: &str) -> io::Result<()> {
    let written = OpenOptions::new().write(true).open(proc_path(name)).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|why| io::Error::new(why.kind(), format!("{name} = {value}: {why}")))
}

/// What a setting is.
///
/// # Errors
/// With the setting's name, if this kernel has none of the name.
pub fn get(name: &str) -> io::Result<String> {
    let text = fs::read_to_string(proc_path(name)).map_err(|why| io::Error::new(why.kind(), format!("{name}: {why}")))?;
    Ok(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}
