//! Distributions that a scenario's quantities are drawn from, and how they are written: `exponential 1 s`, `pareto 12 KB, shape 1.2`.
//!
//! A draw takes one random number `u` and inverts the distribution function, so that the same stream gives the same values everywhere:
//!
//! ```text
//! exponential   x = -m ln(1 - u)
//! Pareto        x = k (1 - u)^(-1/a),   k = m (a - 1) / a;   at most h:   x = k (1 - u (1 - (k/h)^a))^(-1/a)
//! normal        x = m + s z(p),         p = u without a cut, cut at zero p = u + (1 - u) F(-m/s)
//! lognormal     x = exp(mu + sigma z(u)),   sigma^2 = ln(1 + (s/m)^2),   mu = ln m - sigma^2 / 2
//! ```
//!
//! `m` is the mean that the scenario gives, `s` the deviation, `a` the shape, `z` the quantile of the standard normal distribution and `F` its
//! distribution function. Of a Pareto distribution with an upper bound the mean is that of the bounded one, and `k` follows from it.

use self::DistributionFamily::{Exponential, Fixed, Lognormal, Mix, Normal, Pareto, Uniform};
use crate::parameter::{Kind, ParameterType, Value, panic_mistyped};
use crate::quantity::{self, PacketsOrBytes};
use crate::{Rng, Span, math};

/// Quantity that is drawn, which determines the unit in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnQuantity {
    Time,
    Bytes,
    Count,
}

/// A distribution of times in seconds, of sizes in bytes, or of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    dimension: DrawnQuantity,
    family: DistributionFamily,
}

#[derive(Clone, Debug, PartialEq)]
enum DistributionFamily {
    Fixed(f64),
    Uniform {
        from: f64,
        to: f64,
    },
    Exponential {
        mean: f64,
    },
    Pareto {
        mean: f64,
        shape: f64,
        scale: f64,
        upper_bound: Option<f64>,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    Lognormal {
        mean: f64,
        deviation: f64,
    },
    /// Values, each with its share.
    Mix(Vec<(f64, f64)>),
}

/// The distributions as they are written.
const SYNTAX_EXAMPLES: &str = "1 s, uniform 1 s to 3 s, exponential 1 s, pareto 1 s, shape 1.5 (and at most 100 s), normal 1 s, deviation 0.2 s, \
                     lognormal 1 s, deviation 2 s, mix 1 s: 0.9, 10 s: 0.1";

impl Distribution {
    /// Parses a distribution in its text form. The error names the fault and valid forms.
    pub fn parse(text: &str, dimension: DrawnQuantity) -> Result<Distribution, String> {
        let text = text.trim();
        let (word, rest) = match text.split_once(' ') {
            Some((word, rest)) if word.starts_with(char::is_alphabetic) => (word, rest),
            _ => ("fixed", text),
        };
        let family = DistributionParser { dimension, rest }.parse_family(word).map_err(|why| format!("\"{text}\": {why}"))?;
        Ok(Distribution { dimension, family })
    }

    /// Always the same.
    pub fn fixed(value: f64, dimension: DrawnQuantity) -> Distribution {
        Distribution { dimension, family: Fixed(value) }
    }

    /// A draw, which takes one random number.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        self.family.quantile(rng.uniform())
    }

    /// Whether all draws are the same.
    pub fn is_fixed(&self) -> bool {
        matches!(self.family, Fixed(_))
    }

    /// The mean of the draws.
    pub fn mean(&self) -> f64 {
        match self.family {
            Normal { mean, deviation } => {
                let from = -mean / deviation;
                mean + deviation * math::normal_pdf(from) / (1.0 - math::normal_cdf(from))
            }
            Mix(ref values) => values.iter().map(|(value, share)| value * share).sum(),
            Fixed(mean) | Exponential { mean } | Pareto { mean, .. } | Lognormal { mean, .. } => mean,
            Uniform { from, to } => f64::midpoint(from, to),
        }
    }

    /// The numbers that a user gave of what is drawn: all have to lie within a parameter's bounds.
    pub(crate) fn given_values(&self) -> Vec<f64> {
        match self.family {
            Fixed(mean) | Exponential { mean } => vec![mean],
            Normal { mean, deviation } | Lognormal { mean, deviation } => vec![mean, deviation],
            Pareto { mean, upper_bound, .. } => std::iter::once(mean).chain(upper_bound).collect(),
            Uniform { from, to } => vec![from, to],
            Mix(ref values) => values.iter().map(|(value, _)| *value).collect(),
        }
    }
}

impl DistributionFamily {
    /// The value below which draws stay with probability `u`.
    fn quantile(&self, u: f64) -> f64 {
        match *self {
            Fixed(value) => value,
            Uniform { from, to } => from + u * (to - from),
            Exponential { mean } => mean * -math::ln(1.0 - u),
            Pareto { shape, scale, upper_bound, .. } => {
                let cut = upper_bound.map_or(0.0, |upper_bound| math::pow(scale / upper_bound, shape));
                scale * math::pow(1.0 - u * (1.0 - cut), -1.0 / shape)
            }
            Normal { mean, deviation } => {
                let below = math::normal_cdf(-mean / deviation);
                (mean + deviation * math::normal_quantile(below + u * (1.0 - below))).max(0.0)
            }
            Lognormal { mean, deviation } => {
                let variance = math::ln(1.0 + (deviation / mean) * (deviation / mean));
                math::exp(math::ln(mean) - variance / 2.0 + variance.sqrt() * math::normal_quantile(u))
            }
            Mix(ref values) => pick_by_share(values, u),
        }
    }
}

/// The value whose share of the unit interval holds `u`.
fn pick_by_share(values: &[(f64, f64)], mut u: f64) -> f64 {
    for &(value, share) in values {
        if u < share {
            return value;
        }
        u -= share;
    }
    values[values.len() - 1].0
}

/// The text behind a distribution's word.
struct DistributionParser<'t> {
    dimension: DrawnQuantity,
    rest: &'t str,
}

impl DistributionParser<'_> {
    fn parse_family(&self, word: &str) -> Result<DistributionFamily, String> {
        match word {
            "fixed" => Ok(Fixed(self.parse_only_argument()?)),
            "uniform" => self.parse_uniform(),
            "exponential" => Ok(Exponential { mean: require_positive(self.parse_only_argument()?, "the mean")? }),
            "pareto" => self.parse_pareto(),
            "normal" => self.parse_mean_and_deviation(|mean, deviation| Normal { mean, deviation }),
            "lognormal" => self.parse_mean_and_deviation(|mean, deviation| Lognormal { mean, deviation }),
            "mix" => self.parse_value_mix(),
            _ => Err(format!("unknown distribution \"{word}\"; fix: write {SYNTAX_EXAMPLES}")),
        }
    }

    /// The one number of a distribution that has no other.
    fn parse_only_argument(&self) -> Result<f64, String> {
        let (mean, []) = self.parse_mean_and_options([])?;
        Ok(mean)
    }

    fn parse_uniform(&self) -> Result<DistributionFamily, String> {
        let (from, to) = self.rest.split_once(" to ").ok_or("must be written with both ends, as in uniform 1 s to 3 s")?;
        let (from, to) = (self.parse_quantity(from)?, self.parse_quantity(to)?);
        if from < to { Ok(Uniform { from, to }) } else { Err("the first end must be below the second".to_owned()) }
    }

    fn parse_pareto(&self) -> Result<DistributionFamily, String> {
        let (mean, [shape, upper_bound]) = self.parse_mean_and_options(["shape", "at most"])?;
        let mean = require_positive(mean, "the mean")?;
        let shape = quantity::parse_number(shape.ok_or("must have a shape, as in pareto 12 KB, shape 1.2")?)?;
        if !PARETO_SHAPES.contains(&shape) {
            return Err(format!("the shape must be {} .. {}", PARETO_SHAPES.start(), PARETO_SHAPES.end()));
        }
        let upper_bound = upper_bound.map(|upper_bound| self.parse_quantity(upper_bound)).transpose()?;
        let scale = match upper_bound {
            Some(upper_bound) if upper_bound <= mean => return Err("the upper bound must be above the mean".to_owned()),
            Some(upper_bound) => {
                let scale = bounded_pareto_scale(mean, shape, upper_bound);
                let is_met = (bounded_pareto_mean(scale, shape, upper_bound) / mean - 1.0).abs() < 1e-3;
                is_met.then_some(scale).ok_or("no value is small enough for this mean; fix: give a larger shape or a lower upper bound")?
            }
            None if shape <= 1.0 => {
                return Err("a shape of at most 1 has an infinite mean; fix: give an upper bound, as in at most 1 GB".to_owned());
            }
            None => mean * (shape - 1.0) / shape,
        };
        Ok(Pareto { mean, shape, scale, upper_bound })
    }

    fn parse_mean_and_deviation(&self, family: fn(f64, f64) -> DistributionFamily) -> Result<DistributionFamily, String> {
        let (mean, [deviation]) = self.parse_mean_and_options(["deviation"])?;
        let deviation = self.parse_quantity(deviation.ok_or("must have a deviation, as in normal 1 s, deviation 0.2 s")?)?;
        Ok(family(require_positive(mean, "the mean")?, require_positive(deviation, "the deviation")?))
    }

    fn parse_value_mix(&self) -> Result<DistributionFamily, String> {
        let mut values = Vec::new();
        for part in self.rest.split(',') {
            let (value, share) = part.split_once(':').ok_or("each value needs its share, as in mix 1 KB: 0.9, 1 MB: 0.1")?;
            values.push((self.parse_quantity(value)?, require_positive(quantity::parse_number(share)?, "a share")?));
        }
        let sum: f64 = values.iter().map(|(_, share)| share).sum();
        Ok(Mix(values.into_iter().map(|(value, share)| (value, share / sum)).collect()))
    }

    /// The leading quantity, and what stands behind each of the words, in any order.
    fn parse_mean_and_options<const N: usize>(&self, words: [&str; N]) -> Result<(f64, [Option<&str>; N]), String> {
        let mut pieces = self.rest.split(',').map(str::trim);
        let mean = self.parse_quantity(pieces.next().unwrap_or_default())?;
        let mut found = [None; N];
        for piece in pieces {
            let at = words.iter().position(|word| piece.strip_prefix(word).is_some_and(|behind| behind.starts_with(' ')));
            let Some(at) = at else { return Err(format!("unknown option \"{piece}\"; fix: write {SYNTAX_EXAMPLES}")) };
            found[at] = Some(piece[words[at].len()..].trim());
        }
        Ok((mean, found))
    }

    fn parse_quantity(&self, text: &str) -> Result<f64, String> {
        match self.dimension {
            DrawnQuantity::Time => Ok(quantity::parse_span(text)?.seconds()),
            DrawnQuantity::Count => quantity::parse_number(text),
            DrawnQuantity::Bytes => match quantity::parse_packets_or_bytes(text)? {
                PacketsOrBytes::Packets(_) if text.contains('p') => Err(format!("\"{text}\" must be in bytes, as in \"12 KB\"")),
                PacketsOrBytes::Bytes(bytes) | PacketsOrBytes::Packets(bytes) => Ok(bytes),
            },
        }
    }
}

fn require_positive(number: f64, what: &str) -> Result<f64, String> {
    if number > 0.0 { Ok(number) } else { Err(format!("{what} must be above 0")) }
}

/// The smallest value of a Pareto distribution with this mean that ends at `upper_bound`: the mean grows with it, so halving finds it.
fn bounded_pareto_scale(mean: f64, shape: f64, upper_bound: f64) -> f64 {
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..BISECTION_STEPS {
        let middle = f64::midpoint(low, high);
        if bounded_pareto_mean(middle, shape, upper_bound) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Shapes of a Pareto distribution. Those below have nearly all of their values near 0, where numbers end, and those above are all but fixed.
const PARETO_SHAPES: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// Enough to settle every bit of a number.
const BISECTION_STEPS: u32 = 1100;

/// Mean of a Pareto distribution from `scale` to `upper_bound`: `k^a a / (1 - (k/h)^a) * (h^(1-a) - k^(1-a)) / (1 - a)`.
fn bounded_pareto_mean(scale: f64, shape: f64, upper_bound: f64) -> f64 {
    let ratio = scale / upper_bound;
    let within = 1.0 - math::pow(ratio, shape);
    let excess = if (shape - 1.0).abs() < 1e-9 { -math::ln(ratio) } else { (math::pow(ratio, shape - 1.0) - 1.0) / (1.0 - shape) };
    scale * shape * excess / within
}

impl std::fmt::Display for Distribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.dimension {
            DrawnQuantity::Time => " s",
            DrawnQuantity::Bytes => " B",
            DrawnQuantity::Count => "",
        };
        match self.family {
            Fixed(value) => write!(f, "{value}{unit}"),
            Uniform { from, to } => write!(f, "uniform {from}{unit} to {to}{unit}"),
            Exponential { mean } => write!(f, "exponential {mean}{unit}"),
            Pareto { mean, shape, upper_bound: None, .. } => write!(f, "pareto {mean}{unit}, shape {shape}"),
            Pareto { mean, shape, upper_bound: Some(upper_bound), .. } => {
                write!(f, "pareto {mean}{unit}, shape {shape}, at most {upper_bound}{unit}")
            }
            Normal { mean, deviation } => write!(f, "normal {mean}{unit}, deviation {deviation}{unit}"),
            Lognormal { mean, deviation } => write!(f, "lognormal {mean}{unit}, deviation {deviation}{unit}"),
            Mix(ref values) => {
                let values: Vec<_> = values.iter().map(|(value, share)| format!("{value}{unit}: {share}")).collect();
                write!(f, "mix {}", values.join(", "))
            }
        }
    }
}

/// Times that are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeDistribution(pub Distribution);

/// Amounts of bytes that are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution(pub Distribution);

/// Numbers of things that are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct CountDistribution(pub Distribution);

impl TimeDistribution {
    /// Always the same time.
    pub fn fixed(span: Span) -> TimeDistribution {
        TimeDistribution(Distribution::fixed(span.seconds(), DrawnQuantity::Time))
    }

    pub fn exponential(mean: Span) -> TimeDistribution {
        TimeDistribution(Distribution { dimension: DrawnQuantity::Time, family: Exponential { mean: mean.seconds() } })
    }

    /// Without an upper bound; `shape` is above 1.
    pub fn pareto(mean: Span, shape: f64) -> TimeDistribution {
        let (mean, scale) = (mean.seconds(), mean.seconds() * (shape - 1.0) / shape);
        TimeDistribution(Distribution { dimension: DrawnQuantity::Time, family: Pareto { mean, shape, scale, upper_bound: None } })
    }

    /// A draw, to the nearest picosecond; 213 days are the end of time.
    pub fn draw(&self, rng: &mut Rng) -> Span {
        Span::from_picos((self.0.draw(rng) * 1e12 + 0.5) as u64)
    }
}

impl SizeDistribution {
    /// Always the same size.
    pub fn fixed(bytes: u64) -> SizeDistribution {
        SizeDistribution(Distribution::fixed(bytes as f64, DrawnQuantity::Bytes))
    }

    /// The mean time from one to the next that makes them come at so many bits per second; 213 days at most.
    pub fn mean_interval(&self, bps: f64) -> Span {
        Span::from_secs_f64(self.0.mean() * 8.0 / bps).unwrap_or(Span::from_picos(u64::MAX))
    }

    /// A draw in whole bytes, at least one and at most 1 PB.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        ((self.0.draw(rng) + 0.5) as u64).clamp(1, MAX_DRAWN_SIZE_BYTES)
    }
}

impl CountDistribution {
    /// A draw in whole numbers.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        (self.0.draw(rng) + 0.5) as u64
    }
}

/// Largest size that a draw gives: 1 PB.
const MAX_DRAWN_SIZE_BYTES: u64 = 1_000_000_000_000_000;

macro_rules! distribution_parameter {
    ($($type:ident, $dimension:ident, $max:expr);+) => {
        $(impl ParameterType for $type {
            const PARAMETER_KIND: Kind = Kind::Distribution { dimension: DrawnQuantity::$dimension, min: 0.0, max: $max };
            fn from_value(value: &Value) -> $type {
                if let Value::Distribution(distribution) = value { $type(distribution.clone()) } else { panic_mistyped(value) }
            }
        })+
    };
}

distribution_parameter!(TimeDistribution, Time, 1e7; SizeDistribution, Bytes, MAX_DRAWN_SIZE_BYTES as f64; CountDistribution, Count, 1e12);

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn seconds(text: &str) -> Distribution {
        Distribution::parse(text, DrawnQuantity::Time).unwrap()
    }

    /// Mean and variance of many draws.
    fn moments(distribution: &Distribution) -> (f64, f64) {
        let mut rng = Rng::for_role(5, "draws");
        let draws: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        (mean, draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / DRAWS as f64)
    }

    #[test]
    fn draws_have_the_mean_and_the_variance_of_their_formula() {
        let pareto = |mean: f64, shape: f64| mean * mean / (shape * (shape - 2.0));
        let table = [
            ("2 s", 2.0, 0.0),
            ("uniform 1 s to 4 s", 2.5, 9.0 / 12.0),
            ("exponential 2 s", 2.0, 4.0),
            ("pareto 2 s, shape 5", 2.0, pareto(2.0, 5.0)),
            ("normal 5 s, deviation 0.5 s", 5.0, 0.25),
            ("lognormal 2 s, deviation 1 s", 2.0, 1.0),
            ("mix 1 s: 3, 5 s: 1", 2.0, 3.0),
        ];
        for (text, mean, variance) in table {
            let distribution = seconds(text);
            let (found, spread) = moments(&distribution);
            assert!((distribution.mean() - mean).abs() < 1e-6, "{text}: {}", distribution.mean());
            let error = (variance / DRAWS as f64).sqrt();
            assert!((found - mean).abs() <= 4.0 * error, "{text}: mean {found}");
            assert!((spread - variance).abs() <= 0.05 * variance, "{text}: variance {spread}");
        }
    }

    #[test]
    fn a_pareto_distribution_that_cannot_have_its_mean_is_refused() {
        let said = |text: &str| Distribution::parse(text, DrawnQuantity::Time).map(|_| ()).unwrap_err();
        for shape in ["0", "-1", "1e-300", "1e300"] {
            assert!(said(&format!("pareto 1 s, shape {shape}, at most 2 s")).contains("the shape must be 0.01 .. 1000"), "{shape}");
        }
        assert!(said("pareto 1 s, shape 1").contains("a shape of at most 1 has an infinite mean"));
        // Its smallest value is about (1e-6)^100 s.
        assert!(said("pareto 1 us, shape 0.01, at most 1 s").contains("a larger shape or a lower upper bound"));
        for text in ["pareto 1 s, shape 0.01, at most 2 s", "pareto 1 s, shape 1000, at most 2 s", "pareto 1.1 s, shape 0.9, at most 200 s"]
        {
            let distribution = seconds(text);
            let draws = [0.0, 0.5, 0.999].map(|u| distribution.family.quantile(u));
            assert!(draws.is_sorted() && draws[0] > 0.0 && draws[2] < 200.0, "{text}: {draws:?}");
        }
    }

    #[test]
    fn draws_have_the_quantiles_of_their_formula() {
        let (half, rare) = (0.5, 0.999);
        let table = [
            ("exponential 2 s", half, 2.0 * 2f64.ln()),
            ("exponential 2 s", rare, 2.0 * 1000f64.ln()),
            ("pareto 3 s, shape 1.5", half, 2f64.powf(1.0 / 1.5)),
            ("pareto 3 s, shape 1.5", rare, 1000f64.powf(1.0 / 1.5)),
            ("normal 5 s, deviation 1 s", rare, 5.0 + 3.090_232_306_167_813_5),
            ("normal 5 s, deviation 1 s", 0.025, 5.0 - 1.959_963_984_540_054),
            // Median exp(mu), and sigma from the mean and the deviation.
            ("lognormal 1 s, deviation 1 s", half, 0.5f64.sqrt()),
        ];
        for (text, u, expected) in table {
            let found = seconds(text).family.quantile(u);
            assert!((found / expected - 1.0).abs() < 1e-5, "{text} at {u}: {found} in place of {expected}");
        }
    }

    #[test]
    fn a_normal_distribution_that_zero_cuts_has_the_mean_of_what_is_left() {
        let distribution = seconds("normal 1 s, deviation 2 s");
        let (found, variance) = moments(&distribution);
        // 1 + 2 phi(1/2) / Phi(1/2), of the tables of the standard normal distribution.
        assert!((distribution.mean() - (1.0 + 2.0 * 0.352_065_33 / 0.691_462_46)).abs() < 1e-6, "{}", distribution.mean());
        assert!((found - distribution.mean()).abs() < 4.0 * (variance / DRAWS as f64).sqrt(), "{found}");
    }

    #[test]
    fn a_bounded_pareto_distribution_keeps_its_mean_and_its_bound() {
        for shape in ["0.9", "1", "1.2", "3"] {
            let distribution = seconds(&format!("pareto 2 s, shape {shape}, at most 50 s"));
            let (found, variance) = moments(&distribution);
            assert!((found - 2.0).abs() < 4.0 * (variance / DRAWS as f64).sqrt(), "shape {shape}: mean {found}");
            assert!((distribution.family.quantile(1.0 - 1e-15) / 50.0 - 1.0).abs() < 1e-9, "shape {shape}");
        }
    }

    #[test]
    fn the_tail_of_a_pareto_distribution_has_its_index() {
        let (distribution, mut rng) = (seconds("pareto 3 s, shape 1.5"), Rng::for_role(3, "tail"));
        // Hill's estimator with all draws: they lie above the smallest value, which is 1 s, and its deviation is shape / sqrt(n).
        let logarithms: f64 = (0..DRAWS).map(|_| distribution.draw(&mut rng).ln()).sum();
        let index = DRAWS as f64 / logarithms;
        assert!((index - 1.5).abs() < 4.0 * 1.5 / (DRAWS as f64).sqrt(), "{index}");
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        for text in [
            "2 s",
            "uniform 1 s to 3 s",
            "exponential 0.5 s",
            "pareto 1 s, shape 1.5",
            "pareto 1 s, shape 0.9, at most 100 s",
            "normal 1 s, deviation 0.2 s",
            "lognormal 1 s, deviation 2 s",
            "mix 1 s: 0.75, 10 s: 0.25",
        ] {
            assert_eq!(text, seconds(text).to_string());
        }
        let size = |text| Distribution::parse(text, DrawnQuantity::Bytes);
        assert_eq!("exponential 12000 B", size("exponential 12 KB").unwrap().to_string());
        assert_eq!(size("10000"), size("10 KB"));
        assert_eq!("pareto 1.7, shape 2.43", Distribution::parse("pareto 1.7, shape 2.43", DrawnQuantity::Count).unwrap().to_string());
    }

    #[test]
    fn a_distribution_that_is_none_says_what_would_do() {
        for (text, told) in [
            ("exponentail 1 s", "unknown distribution \"exponentail\""),
            ("exponential 0 s", "above 0"),
            ("uniform 1 s", "both ends"),
            ("uniform 3 s to 1 s", "below the second"),
            ("pareto 1 s", "must have a shape"),
            ("pareto 1 s, shape 1", "has an infinite mean"),
            ("pareto 1 s, shape 2, at most 1 s", "above the mean"),
            ("pareto 1 s, form 2", "unknown option \"form 2\""),
            ("normal 1 s", "must have a deviation"),
            ("mix 1 s, 2 s", "needs its share"),
            ("exponential 1", "needs a unit"),
        ] {
            let why = Distribution::parse(text, DrawnQuantity::Time).unwrap_err();
            assert!(why.contains(told), "{text}: {why}");
        }
        assert!(Distribution::parse("exponential 3 packets", DrawnQuantity::Bytes).unwrap_err().contains("in bytes"));
    }
}
