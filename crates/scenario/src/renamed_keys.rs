//! Keys that had another name once: a scenario file that has the old one learns the new one.

/// Old key and new key. A key is taken as old only in a table that knows the new one.
const RENAMED_KEYS: [(&str, &str); 4] = [("shape", "topology"), ("deed", "action"), ("later", "extra_delay"), ("numbers", "packets")];

/// The new name of an old key, if the table knows it.
pub fn new_name<'k>(old: &str, mut known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let &(_, new) = RENAMED_KEYS.iter().find(|(renamed, _)| *renamed == old)?;
    known.find(|&key| key == new)
}

/// How a problem names the new key.
pub fn message(new: &str) -> String {
    format!("is named {new} now; fix: rename it")
}
