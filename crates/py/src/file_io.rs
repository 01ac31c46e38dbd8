//! The files that a scenario names.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// More than any file that a scenario names needs.
const MOST_BYTES: u64 = 200_000_000;

/// The text of a file that a scenario names, which lies beside the scenario's own, in `folder`.
pub fn text(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    let about = std::fs::metadata(&path).map_err(why)?;
    if !about.is_file() && !about.is_dir() {
        return Err("it is a device or a pipe; fix: give a file".to_owned());
    }
    let mut text = String::new();
    File::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text)).map_err(why)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    Ok(text)
}

fn why(error: Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file in the scenario's folder".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
