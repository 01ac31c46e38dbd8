//! What is wrong with a scenario: where, and what would do.

/// One problem. All problems of a scenario are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As in `link.bottleneck.queue.min_th`.
    pub place: String,
    pub line: Option<usize>,
    pub message: String,
}

impl Problem {
    pub fn new(place: &str, message: String) -> Problem {
        Problem { place: place.to_owned(), line: None, message }
    }
}

/// `: did you mean "x"?`, or the names there are.
pub fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = known.clone().map(|name| (strsim::jaro_winkler(word, name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((likeness, name)) if likeness > 0.75 => format!(": did you mean \"{name}\"?"),
        _ => format!(": use one of {}", known.collect::<Vec<_>>().join(", ")),
    }
}
