//! Digest of the sources that results depend on: the crates below, and the versions of third-party crates.
//!
//! It is computed when the crate is built, and in its tests. It is the same for every checkout of a commit and for a source distribution:
//! line endings are ignored, and of `Cargo.lock` only third-party crates count, since a distribution omits crates of this project.

use std::io;
use std::path::{Path, PathBuf};

/// The crates between a scenario's text and a result's numbers.
pub const CRATES: &[&str] = &["units", "queue", "transport", "sim", "scenario"];

/// Source folder that no number depends on: it writes traces, which results do not contain. The recording of a traced run is outside of it.
pub const EXCLUDED_FOLDER: &str = "sim/src/trace";

const LOCK: &str = "Cargo.lock";

/// Source files of these crates, in order. `crates` is the folder of the crates.
pub fn digested_files(crates: &Path, names: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in names {
        files.push(crates.join(name).join("Cargo.toml"));
        collect(&crates.join(name).join("src"), &crates.join(EXCLUDED_FOLDER), &mut files)?;
    }
    files.push(crates.join("..").join(LOCK));
    Ok(files)
}

fn collect(folder: &Path, left_out: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path == left_out {
            continue;
        }
        if path.is_dir() {
            collect(&path, left_out, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// 64-bit FNV-1a over the names and contents of these crates' files, in hexadecimal.
pub fn digest(crates: &Path, names: &[&str]) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in digested_files(crates, names)? {
        let name = file.strip_prefix(crates).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let mut content = std::fs::read_to_string(&file)?.replace('\r', "");
        if file.ends_with(LOCK) {
            content = third_party_entries(&content);
        }
        for byte in name.bytes().chain([0]).chain(content.bytes()).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Ok(format!("{hash:016x}"))
}

/// Entries of a lock file with a source, which the project's own crates do not have.
fn third_party_entries(lock: &str) -> String {
    let entries = lock.split("\n\n").filter(|entry| entry.lines().any(|line| line.starts_with("source = ")));
    entries.map(str::trim_end).collect::<Vec<_>>().join("\n")
}
