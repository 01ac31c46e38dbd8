//! Files named by scenarios.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Maximum size of a file named by a scenario.
const MAX_FILE_BYTES: u64 = 200_000_000;

/// Text of a file named by a scenario, relative to the scenario's `folder`.
pub fn read_file_in_folder(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    let file_metadata = std::fs::metadata(&path).map_err(error_text)?;
    if !file_metadata.is_file() && !file_metadata.is_dir() {
        return Err("it is a device or a pipe; fix: give a file".to_owned());
    }
    let mut text = String::new();
    File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)).map_err(error_text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
    }
    Ok(text)
}

fn error_text(error: Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file in the scenario's folder".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
