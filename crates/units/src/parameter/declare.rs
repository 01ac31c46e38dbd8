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
//!         #[must be given]
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
//! values.read("target", "20 ms").unwrap();
//! let settings = Settings::of(&values);
//! assert_eq!((0.1, Span::from_millis(20), Drop::Tail), (settings.law.max_p, settings.target, settings.drop));
//! assert_eq!(1, values.unmet("depth").len());
//! ```
//!
//! A field's type says the kind: `f64`, `u64`, `u32`, `u8`, [`Amount`], [`Span`], [`Rate`], `bool`, `String`, a distribution
//! ([`Times`](crate::Times), [`Sizes`](crate::Sizes), [`Counts`](crate::Counts)), an enum of [`words!`](crate::words); `Option` of one of them
//! may be `auto`, [`OrOff`] may be `off`, `Vec` takes a list. After the default come the bounds, of times in seconds, and the unit; a bound
//! beyond 2^31 is written as `1e12`.

use super::{Kind, Parameter, Value};
use crate::quantity::Amount;
use crate::{Rate, Span};

/// A type that a parameter can be declared with.
pub trait Typed: Sized {
    /// The kind, as wide as the type is.
    const KIND: Kind;
    /// The word that stands in place of a value.
    const WORD: Option<&'static str> = None;
    /// Whether it is a list.
    const LIST: bool = false;

    /// From a value that was read for this type.
    ///
    /// # Panics
    /// If it was read for another type: a fault of the program.
    fn of(value: &Value) -> Self;
}

/// Reports a value that was declared with another type than it is asked for.
#[cold]
pub fn mistyped(value: &Value) -> ! {
    panic!("{value:?} is declared with another type")
}

macro_rules! typed {
    ($($type:ty, $kind:expr, $variant:ident);+ $(;)?) => {
        $(impl Typed for $type {
            const KIND: Kind = $kind;
            fn of(value: &Value) -> $type {
                if let Value::$variant(value) = value { value.clone() } else { mistyped(value) }
            }
        })+
    };
}

typed! {
    f64, Kind::Number { min: f64::NEG_INFINITY, max: f64::INFINITY, unit: "" }, Number;
    u64, Kind::Count { min: 0, max: u64::MAX, unit: "" }, Count;
    Amount, Kind::Amount, Amount;
    Span, Kind::Span { min: Span::ZERO, max: Span::from_picos(u64::MAX) }, Span;
    Rate, Kind::Rate, Rate;
    bool, Kind::Flag, Flag;
    String, Kind::Text, Text;
}

macro_rules! narrow {
    ($($type:ty),+) => {
        $(impl Typed for $type {
            const KIND: Kind = Kind::Count { min: 0, max: <$type>::MAX as u64, unit: "" };
            fn of(value: &Value) -> $type {
                <$type>::try_from(u64::of(value)).unwrap_or_else(|_| mistyped(value))
            }
        })+
    };
}

narrow!(u32, u8);

impl<T: Typed> Typed for Option<T> {
    const KIND: Kind = T::KIND;
    const WORD: Option<&'static str> = Some("auto");
    const LIST: bool = T::LIST;
    fn of(value: &Value) -> Option<T> {
        if let Value::Nothing(_) = value { None } else { Some(T::of(value)) }
    }
}

/// A value that may be switched off, by the word `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrOff<T>(pub Option<T>);

impl<T: Typed> Typed for OrOff<T> {
    const KIND: Kind = T::KIND;
    const WORD: Option<&'static str> = Some("off");
    const LIST: bool = T::LIST;
    fn of(value: &Value) -> OrOff<T> {
        OrOff(<Option<T> as Typed>::of(value))
    }
}

impl<T: Typed> Typed for Vec<T> {
    const KIND: Kind = T::KIND;
    const LIST: bool = true;
    fn of(value: &Value) -> Vec<T> {
        if let Value::List(values) = value { values.iter().map(T::of).collect() } else { mistyped(value) }
    }
}

/// The tables one after another; `N` is how many parameters they hold in all.
pub const fn joined<const N: usize>(tables: &[&[Parameter]]) -> [Parameter; N] {
    let mut all = [Parameter::PLAIN; N];
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

        impl $crate::parameter::Typed for $Name {
            const KIND: $crate::parameter::Kind = $crate::parameter::Kind::Choice($Name::WORDS);
            fn of(value: &$crate::parameter::Value) -> $Name {
                match value {
                    $($crate::parameter::Value::Word($word) => $Name::$Variant,)+
                    other => $crate::parameter::mistyped(other),
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
                $(#[must be $given:ident])?
                $(#[when($($on:ident = $($word:literal)|+),+)])?
                $(#[off($off:literal, $effect:literal)])*
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
            const OWN: &'static [$crate::Parameter] = &[
                $($crate::Parameter {
                    name: stringify!($name),
                    kind: {
                        let kind = <$type as $crate::parameter::Typed>::KIND;
                        $(let kind = kind.within($min as f64, $max as f64, concat!($($unit)?));)?
                        kind
                    },
                    word: <$type as $crate::parameter::Typed>::WORD,
                    list: <$type as $crate::parameter::Typed>::LIST,
                    default: $default,
                    required: !<[&str]>::is_empty(&[$(stringify!($given))?]),
                    doc: concat!($($doc),+).trim_ascii(),
                    source: concat!($($source)?),
                    read_when: &[$($($crate::parameter::Condition { parameter: stringify!($on), values: &[$($word),+] }),+)?],
                    off: &[$(($off, $effect)),*],
                },)*
            ];
            const JOINED: [$crate::Parameter; $(<$Part>::PARAMETERS.len() +)* $Settings::OWN.len()] =
                $crate::parameter::joined(&[$(<$Part>::PARAMETERS,)* $Settings::OWN]);

            /// The declared parameters, those of shared tables first.
            pub const PARAMETERS: &'static [$crate::Parameter] = &$Settings::JOINED;

            /// From values of [`PARAMETERS`](Self::PARAMETERS), or of a table that holds these among others.
            pub fn of(values: &$crate::Values) -> $Settings {
                $Settings {
                    $($part: <$Part>::of(values),)*
                    $($name: values.get(stringify!($name)),)*
                }
            }
        }
    };
}
