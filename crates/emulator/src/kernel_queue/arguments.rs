//! Reads the arguments of a kernel's queue, in the units of its netlink attributes.

use ecnlab_queue::KernelQdisc;
use ecnlab_units::quantity;

/// Parameters with what is wrong with them.
pub type QdiscProblems = Vec<(String, String)>;

/// The given parameters, and their problems.
pub struct QdiscArgumentReader<'q> {
    queue: &'q KernelQdisc,
    problems: QdiscProblems,
}

impl<'q> QdiscArgumentReader<'q> {
    pub fn new(queue: &'q KernelQdisc, known: &[&str]) -> QdiscArgumentReader<'q> {
        let mut reader = QdiscArgumentReader { queue, problems: Vec::new() };
        for (name, _) in queue.arguments.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            reader.report_problem(name, &format!("unknown parameter of the kernel's {}; fix: use one of {}", queue.name, known.join(", ")));
        }
        reader
    }

    pub fn report_problem(&mut self, name: &str, message: &str) {
        self.problems.push((name.to_owned(), message.to_owned()));
    }

    /// Reports a problem, and continues with a harmless value.
    pub fn report_and_return_placeholder(&mut self, name: &str, message: &str) -> u8 {
        self.report_problem(name, message);
        9
    }

    pub fn raw_text(&self, name: &str) -> Option<&'q str> {
        self.queue.arguments.iter().find(|(argument, _)| argument == name).map(|(_, text)| text.as_str())
    }

    pub fn read<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match read(self.raw_text(name)?) {
            Ok(value) => Some(value),
            Err(message) => {
                self.report_problem(name, &message);
                None
            }
        }
    }

    pub fn read_float(&mut self, name: &str) -> Option<f64> {
        self.read(name, quantity::parse_number)
    }

    pub fn read_whole_number(&mut self, name: &str) -> Option<u32> {
        let whole =
            |value: f64| if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) { Ok(value as u32) } else { Err(()) };
        self.read(name, |text| whole(quantity::parse_number(text)?).map_err(|()| "must be a whole number, not negative".to_owned()))
    }

    pub fn read_required_whole_number(&mut self, name: &str) -> u32 {
        if self.raw_text(name).is_none() {
            self.report_problem(name, &format!("must be given: the kernel's {} has no default for it", self.queue.name));
        }
        self.read_whole_number(name).unwrap_or(0)
    }

    pub fn read_micros(&mut self, name: &str) -> Option<u32> {
        self.read(name, |text| Ok(quantity::parse_span(text)?.micros() as u32))
    }

    pub fn read_nanos(&mut self, name: &str) -> Option<i64> {
        self.read(name, |text| Ok((quantity::parse_span(text)?.picos() / 1_000) as i64))
    }

    pub fn read_byte(&mut self, name: &str) -> Option<u8> {
        let number = self.read_whole_number(name)?;
        u8::try_from(number).map_err(|_| self.report_problem(name, "must be at most 255")).ok()
    }

    /// A value and a mask, decimal or hexadecimal, as in 0x01/0x03. The kernel compares the masked DS field with the value.
    pub fn read_value_and_mask(&mut self, name: &str) -> Option<[u8; 2]> {
        let byte = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let (value, mask) = self.raw_text(name)?.split_once('/').unwrap_or_default();
        match [byte(value), byte(mask)] {
            [Some(value), Some(mask)] if mask != 0 && value & !mask == 0 => Some([value, mask]),
            [Some(_), Some(0)] => self.report_none(name, "has the mask 0, which selects all packets; fix: leave it out"),
            [Some(_), Some(_)] => self.report_none(name, "has a value with bits outside its mask, which selects no packet"),
            _ => self.report_none(name, "must be VALUE/MASK, two bytes, as in \"0x01/0x03\" for ECT(1)"),
        }
    }

    pub fn read_hertz_in_256ths(&mut self, name: &str) -> Option<u32> {
        let hertz = self.read_float(name)?;
        if (0.0..=256.0).contains(&hertz) {
            return Some((hertz * 256.0).round() as u32);
        }
        self.report_none(name, "must be from 0 to 256 hertz")
    }

    /// A probability in units of 2^-32.
    pub fn read_probability_u32(&mut self, name: &str) -> Option<u32> {
        let share = self.read_float(name)?;
        if (0.0..=1.0).contains(&share) {
            return Some((share * f64::from(u32::MAX)).round() as u32);
        }
        self.report_none(name, "must be a probability, from 0 to 1")
    }

    pub fn read_bytes_per_s(&mut self, name: &str) -> Option<f64> {
        let bytes_s = self.read_rate_bps(name)? / 8.0;
        if bytes_s >= 1.0 { Some(bytes_s) } else { self.report_none(name, "must be a rate, as in rate = \"1.5Mbps\"") }
    }

    /// Reports a problem; there is no value.
    pub fn report_none<T>(&mut self, name: &str, message: &str) -> Option<T> {
        self.report_problem(name, message);
        None
    }

    pub fn read_rate_bps(&mut self, name: &str) -> Option<f64> {
        self.read(name, |text| Ok(quantity::parse_rate(text)?.bps() as f64))
    }

    pub fn read_flag(&mut self, name: &str) -> Option<bool> {
        self.read(name, |text| text.parse().map_err(|_| "must be true or false".to_owned()))
    }

    pub fn finish<T>(self, read: T) -> Result<T, QdiscProblems> {
        if self.problems.is_empty() { Ok(read) } else { Err(self.problems) }
    }
}
