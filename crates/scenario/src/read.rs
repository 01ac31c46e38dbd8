//! Reads tables of a scenario by their declarations, and collects all problems.

use ecnlab_queue::Registry;
use ecnlab_units::parameter::{ParameterType, ReadCondition};
use ecnlab_units::{Kind, Parameter, Value, Values, quantity};

use crate::problem::{Problem, format_names, suggestion_text};
use crate::renamed_keys;
use crate::tree::{Node, Scalar, ScalarKind};

/// Returns the text of a file that a scenario names, or an error message.
pub type FileReader<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// File reader for scenarios without files.
///
/// # Errors
/// Always.
pub fn no_files(_name: &str) -> Result<String, String> {
    Err("files cannot be read here; fix: give the content as a list".to_owned())
}

/// Collects problems, which reject the scenario, and warnings, which do not.
pub struct Reader<'r> {
    /// AQMs and disciplines that the scenario may name.
    pub registry: &'r Registry,
    /// Reader of the files that the scenario names.
    files: FileReader<'r>,
    /// Names of the files that were read, in order, each once.
    pub file_names: Vec<String>,
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

/// A table of the scenario with its path.
pub struct TableInput<'a> {
    pub node: &'a Node,
    pub place: String,
}

/// Values of the declared keys, and the keys whose values are invalid.
pub struct ReadValues {
    pub values: Values,
    invalid_keys: Vec<&'static str>,
}

impl<'a> TableInput<'a> {
    pub fn new(node: &'a Node, place: impl Into<String>) -> TableInput<'a> {
        TableInput { node, place: place.into() }
    }

    /// Empty table for one that the scenario omits.
    pub fn empty(place: String) -> TableInput<'static> {
        static EMPTY: Node = Node::EMPTY;
        TableInput { node: &EMPTY, place }
    }

    /// The table under a key, if the key is given.
    pub fn table(&self, key: &str) -> Option<TableInput<'a>> {
        Some(TableInput::new(self.node.get(key)?, self.path_of_key(key)))
    }

    pub fn path_of_key(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// Line of a member, or of the table if the member is missing.
    pub fn line(&self, key: &str) -> Option<usize> {
        self.node.get(key).map_or(self.node.line, |node| node.line)
    }
}

impl ReadValues {
    /// A value, unless it is invalid.
    pub fn get<T: ParameterType>(&self, name: &str) -> Option<T> {
        (!self.invalid_keys.contains(&name)).then(|| self.values.get_as(name))
    }

    /// All values, unless one of them is invalid.
    pub fn valid_values(&self) -> Option<&Values> {
        self.invalid_keys.is_empty().then_some(&self.values)
    }

    /// All values by value, unless one of them is invalid.
    pub fn into_valid_values(self) -> Option<Values> {
        self.invalid_keys.is_empty().then_some(self.values)
    }
}

impl<'r> Reader<'r> {
    pub fn new(registry: &'r Registry, files: FileReader<'r>) -> Reader<'r> {
        Reader { registry, files, file_names: Vec::new(), problems: Vec::new(), warnings: Vec::new() }
    }

    /// Text of the file that a member names.
    pub fn read_file(&mut self, given: &TableInput, key: &str, name: &str) -> Option<String> {
        let text = (self.files)(name).map_err(|why| self.report(given, key, format!("cannot read \"{name}\": {why}"))).ok()?;
        if !self.file_names.iter().any(|known| known == name) {
            self.file_names.push(name.to_owned());
        }
        Some(text)
    }

    /// Reports a problem of a member, with its line if it has one.
    pub fn report(&mut self, given: &TableInput, key: &str, message: impl Into<String>) {
        self.problems.push(Problem { place: given.path_of_key(key), line: given.line(key), message: message.into() });
    }

    /// Reports a warning of a member.
    pub fn warn(&mut self, given: &TableInput, key: &str, message: impl Into<String>) {
        self.warnings.push(Problem { place: given.path_of_key(key), line: given.line(key), message: message.into() });
    }

    /// Reports every unknown key.
    pub fn reject_unknown_keys<'k>(&mut self, given: &TableInput, known: impl Iterator<Item = &'k str> + Clone) {
        for key in unknown_keys(given.node, known.clone()) {
            let message = renamed_keys::new_name(key, known.clone()).map(renamed_keys::renamed_key_message);
            self.report(given, key, message.unwrap_or_else(|| format!("unknown key{}", suggestion_text(key, known.clone()))));
        }
    }

    /// Reports a key given by its old name; returns whether the table has one.
    fn report_old_name(&mut self, given: &TableInput, key: &str) -> bool {
        let entries = given.node.entries().unwrap_or_default();
        let old = entries.iter().map(|(old, _)| old).find(|old| renamed_keys::new_name(old, std::iter::once(key)).is_some());
        if let Some(old) = old {
            self.report(given, old, renamed_keys::renamed_key_message(key));
        }
        old.is_some()
    }

    /// Reads the declared keys; omitted keys have their defaults.
    pub fn read_keys(&mut self, given: &TableInput, declared: &'static [Parameter]) -> ReadValues {
        let values = Values::defaults(declared);
        self.read_keys_over(given, values)
    }

    /// Reads the declared keys over existing values.
    pub fn read_keys_over(&mut self, given: &TableInput, values: Values) -> ReadValues {
        let declared = values.parameters();
        self.read_keys_among(given, declared, values)
    }

    /// Reads some of the declared keys over existing values.
    pub fn read_keys_among(&mut self, given: &TableInput, declared: &'static [Parameter], mut values: Values) -> ReadValues {
        let mut invalid_keys = Vec::new();
        let members = nodes_by_parameter_index(given.node, &values);
        for parameter in declared {
            let member = values.position(parameter.name).and_then(|at| Some((at, members[at]?)));
            match (member, parameter.required) {
                (Some((at, node)), _) => match read_value_or_list(parameter, node) {
                    Ok(value) => values.set_at(at, value),
                    Err(message) => {
                        self.report(given, parameter.name, message);
                        invalid_keys.push(parameter.name);
                    }
                },
                (None, true) => {
                    self.report(given, parameter.name, format!("is missing; fix: give it as {}", parameter_example_line(parameter)));
                    invalid_keys.push(parameter.name);
                }
                (None, false) => {}
            }
        }
        ReadValues { values, invalid_keys }
    }

    /// Warns of keys that are given but not used, and of values that disable something.
    pub fn warn_ignored_keys(&mut self, given: &TableInput, values: &Values, unread: &[&str]) {
        self.warn_ignored_keys_with_path_fn(given, values, unread, str::to_owned);
    }

    /// The same, with a function for the path of another parameter of these values.
    pub fn warn_ignored_keys_with_path_fn(&mut self, given: &TableInput, values: &Values, unread: &[&str], path: fn(&str) -> String) {
        let members = nodes_by_parameter_index(given.node, values);
        for (at, parameter) in values.parameters().iter().enumerate().filter(|(at, _)| members[*at].is_some()) {
            let value = values.value_at(at);
            if let Some(effect) = parameter.effect_disabled_by(value) {
                self.warn(given, parameter.name, format!("{value} means that {effect}; fix: leave it out for the default"));
            } else if unread.contains(&parameter.name) {
                self.warn(given, parameter.name, "has no effect with this algorithm; fix: leave it out");
            } else if let Some(condition) = values.unmet_read_conditions_of(parameter.name).first() {
                self.warn_unmet_condition(given, values, parameter.name, condition, path);
            }
        }
    }

    /// Warns of a key whose condition is not met by these values.
    pub fn warn_unmet_condition(
        &mut self,
        given: &TableInput,
        values: &Values,
        name: &str,
        condition: &ReadCondition,
        path: fn(&str) -> String,
    ) {
        let (now, other) = (values.value_by_name(condition.parameter), path(condition.parameter));
        let words = condition.values.join(" or ");
        let message = format!("has an effect only with {other} = {words}, but {other} is {now}; fix: leave out one of the two");
        self.warn(given, name, message);
    }

    /// The table under `key`, if there is one; reports a problem if the value is not a table.
    pub fn read_table<'a>(&mut self, given: &TableInput<'a>, key: &str, example: &str) -> Option<TableInput<'a>> {
        let table = given.table(key)?;
        if table.node.entries().is_none() {
            self.report(given, key, format!("must be a table, as in {key} = {example}"));
            return None;
        }
        Some(table)
    }

    /// The registry entry that the value of `key` names.
    pub fn read_name_and_find_entry<'e, E>(
        &mut self,
        given: &TableInput,
        key: &str,
        what: &str,
        entries: &'e [E],
        name: fn(&E) -> &str,
    ) -> Option<&'e E> {
        let Some(node) = given.node.get(key) else {
            if self.report_old_name(given, key) {
                return None;
            }
            let names: Vec<_> = entries.iter().map(name).collect();
            self.report(
                given,
                key,
                format!("is missing; fix: give it as {key} = \"{}\", or another of {}", names[0], format_names(&names)),
            );
            return None;
        };
        let Some(Scalar { text: word, .. }) = node.as_scalar() else {
            self.report(given, key, format!("must be a single value, as in {key} = \"{}\"", name(&entries[0])));
            return None;
        };
        let found = entries.iter().find(|entry| name(entry) == word);
        if found.is_none() {
            self.report(given, key, format!("unknown {what} \"{word}\"{}", suggestion_text(word, entries.iter().map(name))));
        }
        found
    }
}

/// Names of parameters, in the order of their declaration.
pub fn parameter_names(parameters: &[Parameter]) -> impl Iterator<Item = &'static str> + Clone {
    parameters.iter().map(|parameter| parameter.name)
}

/// Members of a table by the index of the parameter that each gives.
fn nodes_by_parameter_index<'a>(node: &'a Node, values: &Values) -> Vec<Option<&'a Node>> {
    let mut members = vec![None; values.parameters().len()];
    for (key, member) in node.entries().unwrap_or_default() {
        if let Some(at) = values.position(key) {
            members[at] = Some(member);
        }
    }
    members
}

/// Keys of a table that are not known. Most tables list keys in the order of the declaration, so each search starts after the previous hit,
/// and wraps around.
pub fn unknown_keys<'a, 'k>(node: &'a Node, known: impl Iterator<Item = &'k str> + Clone) -> Vec<&'a str> {
    let mut behind = known.clone();
    let mut is_known = |key: &str| {
        if behind.next() == Some(key) {
            return true;
        }
        let mut all = known.clone();
        let is_known = all.any(|known| known == key);
        if is_known {
            behind = all;
        }
        is_known
    };
    node.entries().unwrap_or_default().iter().map(|(key, _)| key.as_str()).filter(|key| !is_known(key)).collect()
}

/// Reads the value of a parameter: one value, or a list if the parameter is declared as one.
fn read_value_or_list(parameter: &Parameter, node: &Node) -> Result<Value, String> {
    match (node.as_list(), node.as_scalar()) {
        (None, Some(scalar)) => {
            let value = read_single_value(parameter, scalar)?;
            Ok(if parameter.accepts_list && !matches!(value, Value::Special(_)) { Value::List(vec![value]) } else { value })
        }
        (Some([]), None) if parameter.accepts_list => {
            Err(format!("must not be empty; fix: give at least one, as in {}", parameter_example_line(parameter)))
        }
        (Some(members), None) if parameter.accepts_list => {
            let one =
                |member: &Node| match read_single_value(parameter, member.as_scalar().ok_or_else(|| single_value_message(parameter))?)? {
                    Value::Special(word) => {
                        Err(format!("{word} stands for all values; fix: write {} = \"{word}\", not in a list", parameter.name))
                    }
                    value => Ok(value),
                };
            members.iter().map(one).collect::<Result<_, _>>().map(Value::List)
        }
        _ => Err(single_value_message(parameter)),
    }
}

/// Reads one value. Its form matters if a text, a number and a flag could be confused.
fn read_single_value(parameter: &Parameter, scalar: &Scalar) -> Result<Value, String> {
    let Scalar { text, form } = scalar;
    match (parameter.kind, form) {
        (Kind::Flag, ScalarKind::Text) if parameter.parse(text).is_ok() => Err(format!("must be {text} without quotes")),
        (Kind::Number { .. } | Kind::Count { .. }, ScalarKind::Text) if quantity::is_number(text) => {
            Err(format!("must be a number without quotes, as in {} = {text}", parameter.name))
        }
        (Kind::Text, ScalarKind::Number | ScalarKind::Flag | ScalarKind::Other) => {
            Err(format!("must be a text in quotes, as in \"{text}\""))
        }
        _ => parameter.parse(text),
    }
}

fn single_value_message(parameter: &Parameter) -> String {
    format!(
        "must be a single value{}, as in {}",
        if parameter.accepts_list { " or a list of them" } else { "" },
        parameter_example_line(parameter)
    )
}

/// A parameter with its default or its example, in the syntax of a scenario.
pub fn parameter_example_line(parameter: &Parameter) -> String {
    let bare = matches!(parameter.kind, Kind::Number { .. } | Kind::Flag) || parameter.default.bytes().all(|b| b.is_ascii_digit());
    let quote = if bare { "" } else { "\"" };
    format!("{} = {quote}{}{quote}", parameter.name, parameter.default)
}
