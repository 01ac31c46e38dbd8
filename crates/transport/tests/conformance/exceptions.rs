//! Who does not claim which rule, and why. An entry whose rule holds after all fails the test.

use super::rule::Exception;

pub const EXCEPTIONS: &[Exception] = &[];
