//! Keys that were renamed: an old key is refused with a message that gives the new one.

/// Old key and new key. A key counts as old only in a table that has the new one.
const RENAMED_KEYS: [(&str, &str); 4] = [("shape", "topology"), ("deed", "action"), ("later", "extra_delay"), ("numbers", "packets")];

/// New name of an old key, if the table has it.
pub fn new_name<'k>(old: &str, mut known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let &(_, new) = RENAMED_KEYS.iter().find(|(renamed, _)| *renamed == old)?;
    known.find(|&key| key == new)
}

/// Message that gives the new key.
pub fn renamed_key_message(new: &str) -> String {
    format!("is named {new} now; fix: rename it")
}
