//! Problems and warnings of a scenario: path, message and remedy.

/// One problem or warning. All of a scenario are reported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path as in `link.bottleneck.queue.min_th`.
    pub place: String,
    pub line: Option<usize>,
    pub message: String,
}

/// Maximum number of names listed in a message, and of names searched for a similar one. No list of algorithms or keys is longer.
const MAX_LISTED_NAMES: usize = 100;
const MAX_SEARCHED_NAMES: usize = 1_000;

impl Problem {
    pub fn new(place: &str, message: impl Into<String>) -> Problem {
        Problem { place: place.to_owned(), line: None, message: message.into() }
    }
}

/// Keys by their names in other tools and papers.
const SYNONYMS: &[(&str, &str)] = &[("mss", "packet_size"), ("cc", "congestion_control"), ("bandwidth", "rate"), ("latency", "delay")];

/// `; did you mean "x"?`, or a list of the known names.
pub fn suggestion_text<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in known.take(MAX_SEARCHED_NAMES) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if let Some((_, name)) = SYNONYMS.iter().find(|(other, name)| *other == word && names.contains(name)) {
        return format!("; did you mean \"{name}\"?");
    }
    match names.iter().filter(|name| is_similar(word, name)).min_by_key(|name| strsim::osa_distance(word, name)) {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None => format!("; fix: use one of {}", format_names(&names)),
    }
}

/// Whether a word is likely a name with a slip: in capitals, cut off, or with one error in three letters.
fn is_similar(word: &str, name: &str) -> bool {
    let [word, name] = [word, name].map(str::to_lowercase);
    let [shorter, longer] = if word.len() <= name.len() { [&word, &name] } else { [&name, &word] };
    let is_cut_off = shorter.len() >= 3 && longer.starts_with(shorter.as_str());
    is_cut_off || 3 * strsim::osa_distance(&word, &name) <= longer.chars().count()
}

/// `; did you mean "x"?`, or nothing if no name is similar.
pub fn near_name_text<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let text = suggestion_text(word, known);
    if text.starts_with("; did you mean") { text } else { String::new() }
}

/// The names, truncated if there are many.
pub fn format_names(names: &[&str]) -> String {
    let first = names[..names.len().min(MAX_LISTED_NAMES)].join(", ");
    if names.len() > MAX_LISTED_NAMES { format!("{first} and others") } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_of_another_tool_suggests_our_name() {
        assert_eq!("; did you mean \"packet_size\"?", suggestion_text("mss", ["profile", "packet_size", "max_cwnd"].into_iter()));
        assert_eq!("; fix: use one of profile, ecn", suggestion_text("mss", ["profile", "ecn"].into_iter()), "only where it is known");
    }

    #[test]
    fn a_name_is_suggested_for_a_slip_alone() {
        let known = ["codel", "droptail", "pi", "pie", "red", "bottleneck"];
        for (word, name) in [("RED", "red"), ("DropTail", "droptail"), ("coedl", "codel"), ("bottle", "bottleneck")] {
            assert_eq!(format!("; did you mean \"{name}\"?"), suggestion_text(word, known.into_iter()));
        }
        for word in ["pfifo", "fq_codel", "telnet", "nope", "choke"] {
            assert!(suggestion_text(word, known.into_iter()).starts_with("; fix: use one of "), "{word}");
        }
    }

    #[test]
    fn all_names_are_listed() {
        let names: Vec<String> = (0..60).map(|n| format!("name{n}")).collect();
        let said = suggestion_text("zzzz", names.iter().map(String::as_str));
        assert!(names.iter().all(|name| said.contains(name.as_str())), "{said}");
    }
}
