//! Each input of each corpus passes its target, within its bound of memory.

use std::path::{Path, PathBuf};

use ecnlab_fuzz::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_input_passes_its_target() {
    for target in TARGETS {
        target.prepare();
        let folder = corpus().join(target.name);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{} has no input", target.name);
        for name in inputs {
            let data = std::fs::read(folder.join(&name)).unwrap();
            let passed = std::panic::catch_unwind(|| target.execute(&data));
            assert!(passed.is_ok(), "{}: {name} fails it", target.name);
        }
    }
}

#[test]
fn nothing_at_all_passes_every_target() {
    for target in TARGETS {
        target.prepare();
        target.execute(&[]);
    }
}

/// Small enough to be read by each run of the tests.
#[test]
fn corpora_are_small() {
    let mut all = 0;
    for target in TARGETS {
        let folder = corpus().join(target.name);
        let sizes: Vec<u64> = names(&folder).iter().map(|name| folder.join(name).metadata().unwrap().len()).collect();
        let size: u64 = sizes.iter().sum();
        assert!(sizes.len() <= 120 && size <= 120_000, "{}: {} inputs of {size} bytes", target.name, sizes.len());
        all += size;
    }
    assert!(all <= 1_000_000, "{all} bytes");
}
