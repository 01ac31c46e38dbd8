//! The files that a scenario names.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// More than any file that a scenario names needs.
const MOST_BYTES: u64 = 200_000_000;

/// The text of a file that a scenario names, which lies beside the scenario's own, in `folder`.
pub fn text(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    let size = std::fs::metadata(&path).map_err(why)?.len();
    if size > MOST_BYTES {
        return Err(format!("it has {size} bytes, and at most {MOST_BYTES} are read"));
    }
    std::fs::read_to_string(&path).map_err(why)
}

fn why(error: Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file beside the scenario".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    }
}
