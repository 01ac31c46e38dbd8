//! The two macros that declarations are written with.
//!
//! ```
//! use ecnlab_units::{Span, Values, parameters, words};
//!
//! words! {
//!     /// Which packet a drop takes.
//!     pub enum Drop { Tail = "tail", Front = "front" }
//! }
//!
//! parameters! {
//!     /// The law that several algorithms share.
//!     pub struct Law {
//!         /// Probability of a mark as the average reaches max_th.
//!         #[source("Floyd and Jacobson 1993, section 4")]
//!         #[off("0", "no packet is marked")]
//!         #[usual(0.01..=1, log)]
//!         pub max_p: f64 = "0.1", 0..=1;
//!     }
//! }
//!
//! parameters! {
//!     /// An algorithm with that law and parameters of its own.
//!     pub struct Settings {
//!         ..law: Law;
//!         /// The delay that it aims at.
//!         #[source("RFC 8289, section 4.2")]
//!         #[required]
//!         pub target: Span = "5 ms", 0.001..=1, "s";
//!         /// Which packet a drop takes: the arriving or the oldest.
//!         #[source("ns-2 2.35, drop_front_")]
//!         pub drop: Drop = "tail";
//!         /// How many packets at the front are looked at.
//!         #[source("an example")]
//!         #[when(drop = "front")]
//!         pub depth: u32 = "1", 1..=1000, "packets";
//!     }
//! }
//!
//! let mut values = Values::defaults(Settings::PARAMETERS);
//! values.set_from_text("target", "20 ms").unwrap();
//! let settings = Settings::from_values(&values);
//! assert_eq!((0.1, Span::from_millis(20), Drop::Tail), (settings.law.max_p, settings.target, settings.drop));
//! assert_eq!(1, values.unmet_read_conditions_of("depth").len());
//! ```
//!
//! A field's type says the kind: `f64`, `u64`, `u32`, `u8`, [`PacketsOrBytes`], [`Span`], [`Rate`], `bool`, `String`, a distribution
//! ([`TimeDistribution`](crate::TimeDistribution), [`SizeDistribution`](crate::SizeDistribution), [`CountDistribution`](crate::CountDistribution)), an enum of [`words!`](crate::words); `Option` of one of them
//! may be `auto`, [`OrOff`] may be `off`, `Vec` takes a list. After the default come the bounds, of times in seconds, and the unit; a bound
//! beyond 2^31 is written as `1e12`. `usual` is the range of a slider, with its scale: `linear` or `log`.

use super::{Kind, Parameter, Value};
use crate::quantity::PacketsOrBytes;
use crate::{Rate, Span};

/// A type that a parameter can be declared with.
pub trait ParameterType: Sized {
    /// The kind, as wide as the type is.
    const PARAMETER_KIND: Kind;
    /// Keyword that replaces a value.
    const SPECIAL_WORD: Option<&'static str> = None;
    /// Whether it is a list.
    const IS_LIST: bool = false;

    /// From a value that was read for this type.
    ///
    /// # Panics
    /// If it was read for another type: a fault of the program.
    fn from_value(value: &Value) -> Self;
}

/// Panics about a value that was declared with another type than the requested one.
#[cold]
pub fn panic_mistyped(value: &Value) -> ! {
    panic!("{value:?} is declared with another type")
}

macro_rules! impl_parameter_type {
    ($($type:ty, $kind:expr, $variant:ident);+ $(;)?) => {
        $(impl ParameterType for $type {
            const PARAMETER_KIND: Kind = $kind;
            fn from_value(value: &Value) -> $type {
                if let Value::$variant(value) = value { value.clone() } else { panic_mistyped(value) }
            }
        })+
    };
}

impl_parameter_type! {
    f64, Kind::Number { min: f64::NEG_INFINITY, max: f64::INFINITY, unit: "" }, Number;
    u64, Kind::Count { min: 0, max: u64::MAX, unit: "" }, Count;
    PacketsOrBytes, Kind::Amount, Amount;
    Span, Kind::Span { min: Span::ZERO, max: Span::from_picos(u64::MAX) }, Span;
    Rate, Kind::Rate, Rate;
    bool, Kind::Flag, Flag;
    String, Kind::Text, Text;
}

macro_rules! impl_narrow_count {
    ($($type:ty),+) => {
        $(impl ParameterType for $type {
            const PARAMETER_KIND: Kind = Kind::Count { min: 0, max: <$type>::MAX as u64, unit: "" };
            fn from_value(value: &Value) -> $type {
                <$type>::try_from(u64::from_value(value)).unwrap_or_else(|_| panic_mistyped(value))
            }
        })+
    };
}

impl_narrow_count!(u32, u8);

impl<T: ParameterType> ParameterType for Option<T> {
    const PARAMETER_KIND: Kind = T::PARAMETER_KIND;
    const SPECIAL_WORD: Option<&'static str> = Some("auto");
    const IS_LIST: bool = T::IS_LIST;
    fn from_value(value: &Value) -> Option<T> {
        if let Value::Special(_) = value { None } else { Some(T::from_value(value)) }
    }
}

/// A value that may be switched off, by the word `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrOff<T>(pub Option<T>);

impl<T: ParameterType> ParameterType for OrOff<T> {
    const PARAMETER_KIND: Kind = T::PARAMETER_KIND;
    const SPECIAL_WORD: Option<&'static str> = Some("off");
    const IS_LIST: bool = T::IS_LIST;
    fn from_value(value: &Value) -> OrOff<T> {
        OrOff(<Option<T> as ParameterType>::from_value(value))
    }
}

impl<T: ParameterType> ParameterType for Vec<T> {
    const PARAMETER_KIND: Kind = T::PARAMETER_KIND;
    const IS_LIST: bool = true;
    fn from_value(value: &Value) -> Vec<T> {
        if let Value::List(values) = value { values.iter().map(T::from_value).collect() } else { panic_mistyped(value) }
    }
}

/// The tables one after another; `N` is how many parameters they hold in all.
pub const fn concat_parameter_tables<const N: usize>(tables: &[&[Parameter]]) -> [Parameter; N] {
    let mut all = [Parameter::DEFAULTS; N];
    let (mut at, mut table) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[at] = tables[table][row];
            at += 1;
            row += 1;
        }
        table += 1;
    }
    assert!(at == N, "N is how many parameters the tables hold");
    all
}

/// Declares an enum, each variant with the word that users write for it.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $vis:vis enum $Name:ident { $($(#[$doc:meta])* $Variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Name {
            $(
                $(#[$doc])*
                #[doc = concat!("As users write it: `", $word, "`.")]
                $Variant
            ),+
        }

        impl $Name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [$Name] = &[$($Name::$Variant),+];
            /// The words that users write, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// As users write it.
            pub const fn word(self) -> &'static str {
                match self {
                    $($Name::$Variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl $crate::parameter::ParameterType for $Name {
            const PARAMETER_KIND: $crate::parameter::Kind = $crate::parameter::Kind::Choice($Name::WORDS);
            fn from_value(value: &$crate::parameter::Value) -> $Name {
                match value {
                    $($crate::parameter::Value::Choice($word) => $Name::$Variant,)+
                    other => $crate::parameter::panic_mistyped(other),
                }
            }
        }
    };
}

/// Declares a table of parameters and the struct that holds their values; see the module's example.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$about:meta])*
        $vis:vis struct $Settings:ident {
            $(..$part:ident: $Part:ty;)*
            $(
                $(#[doc = $doc:literal])+
                $(#[source($source:literal)])?
                $(#[required $($required:lifetime)?])?
                $(#[when($($on:ident = $($word:literal)|+),+)])?
                $(#[off($off:literal, $effect:literal)])*
                $(#[usual($low:literal..=$high:literal, $scale:ident)])?
                pub $name:ident: $type:ty = $default:literal $(, $min:tt..=$max:tt $(, $unit:literal)?)?;
            )*
        }
    ) => {
        $(#[$about])*
        $vis struct $Settings {
            $(#[doc = "The table that it shares with others."] pub $part: $Part,)*
            $($(#[doc = $doc])+ pub $name: $type,)*
        }

        impl $Settings {
            /// The parameters declared here, without those of shared tables.
            pub const OWN_PARAMETERS: &'static [$crate::Parameter] = &[
                $($crate::Parameter {
                    name: stringify!($name),
                    kind: {
                        let kind = <$type as $crate::parameter::ParameterType>::PARAMETER_KIND;
                        $(let kind = kind.with_bounds($min as f64, $max as f64, concat!($($unit)?));)?
                        kind
                    },
                    special_word: <$type as $crate::parameter::ParameterType>::SPECIAL_WORD,
                    accepts_list: <$type as $crate::parameter::ParameterType>::IS_LIST,
                    default: $default,
                    required: !<[&str]>::is_empty(&[$(concat!($(stringify!($required))?))?]),
                    doc: concat!($($doc),+).trim_ascii(),
                    source: concat!($($source)?),
                    read_when: &[$($($crate::parameter::ReadCondition { parameter: stringify!($on), values: &[$($word),+] }),+)?],
                    off_values: &[$(($off, $effect)),*],
                    ..$crate::Parameter { $(usual: Some($crate::parameter::UsualRange::$scale($low as f64, $high as f64)),)? ..$crate::Parameter::DEFAULTS }
                },)*
            ];
            const ALL_PARAMETERS: [$crate::Parameter; $(<$Part>::PARAMETERS.len() +)* $Settings::OWN_PARAMETERS.len()] =
                $crate::parameter::concat_parameter_tables(&[$(<$Part>::PARAMETERS,)* $Settings::OWN_PARAMETERS]);

            /// The declared parameters, those of shared tables first.
            pub const PARAMETERS: &'static [$crate::Parameter] = &$Settings::ALL_PARAMETERS;

            /// From values of [`PARAMETERS`](Self::PARAMETERS), or of a table that holds these among others.
            pub fn from_values(values: &$crate::Values) -> $Settings {
                $Settings {
                    $($part: <$Part>::from_values(values),)*
                    $($name: values.get_as(stringify!($name)),)*
                }
            }
        }
    };
}
