//! Recorded connections of a kernel, compared in each mode.

use std::sync::LazyLock;

use ecnlab_validation::kernel::case::Case;
use ecnlab_validation::kernel::{CaseMode, validate};
use serde_json::Value;

use crate::edit::edit;
use crate::input::Input;

/// The beginnings of four cases of the reference.
static CASES: LazyLock<[Value; 4]> = LazyLock::new(|| {
    let cases = [
        include_str!("../../corpus/kernel_case/reno-lastack-lost"),
        include_str!("../../corpus/kernel_case/cubic-delayed-single-segments"),
        include_str!("../../corpus/kernel_case/cubic-request-response"),
        include_str!("../../corpus/kernel_case/reno-first-lost"),
    ];
    cases.map(|case| serde_json::from_str(case).expect("a case is JSON"))
});

/// # Panics
/// If one of the sound cases is refused: other values in it would then reach nothing.
pub fn prepare() {
    for case in &*CASES {
        Case::from_json_value(case).unwrap_or_else(|why| panic!("a sound case is refused: {why}"));
    }
}

pub fn case(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        validate_in_each_mode(Case::from_json_text(text));
    }
}

/// A sound case with other values.
pub fn fields(data: &[u8]) {
    let mut input = Input(data);
    let mut case = CASES[input.below(CASES.len())].clone();
    edit(&mut case, &mut input);
    validate_in_each_mode(Case::from_json_value(&case));
}

fn validate_in_each_mode(case: Result<Case, String>) {
    match case {
        Ok(case) => {
            for &mode in CaseMode::ALL {
                let result = validate(&case, mode);
                assert!(result.agreed <= result.packets, "{result:?}");
            }
        }
        Err(why) => assert!(!why.is_empty(), "a case is refused without a reason"),
    }
}
