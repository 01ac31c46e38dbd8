//! Every sender of the registry: each profile by itself, and with each variant. A new entry is included automatically.

use std::fmt;
use std::sync::Arc;

use ecnlab_transport::TcpSettings;
use ecnlab_transport::profile::{self, PROFILES, VARIANTS};
use ecnlab_transport::settings::check;
use ecnlab_units::Values;

/// A sender and its receiver by name.
#[derive(Clone)]
pub struct ProfileCase {
    pub profile: &'static str,
    pub variant: Option<&'static str>,
    values: Values,
    pub settings: Arc<TcpSettings>,
}

/// Whether the profile mimics ns-2, whose agents are the variants.
pub fn is_ns2(profile: &str) -> bool {
    profile.starts_with("ns2")
}

impl fmt::Debug for ProfileCase {
    /// Shows only the difference from the profile, which a reader of a failure needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = ProfileCase::new(self.profile, self.variant);
        let differs = self.values.iter_texts().zip(base.values.iter_texts()).filter(|(here, there)| here != there);
        write!(f, "{}", self.name())?;
        differs.into_iter().try_for_each(|((name, text), _)| write!(f, ", {name} = {text}"))
    }
}

impl ProfileCase {
    pub fn new(profile: &'static str, variant: Option<&'static str>) -> ProfileCase {
        let mut values = profile::find_profile(profile).expect("a profile of the registry").values_with_defaults();
        if let Some(variant) = variant {
            profile::find_variant(variant).expect("a variant of the registry").apply(&mut values);
        }
        let settings = Arc::new(TcpSettings::from_values(&values));
        ProfileCase { profile, variant, values, settings }
    }

    /// The same case with some parameters set; none if they contradict the others.
    pub fn with(&self, members: &[(&str, &str)]) -> Option<ProfileCase> {
        let mut values = self.values.clone();
        for (name, text) in members {
            values.set_from_text(name, text).unwrap_or_else(|why| panic!("{name} = {text}: {why}"));
        }
        let settings = Arc::new(TcpSettings::from_values(&values));
        check(&values).is_empty().then(|| ProfileCase { values, settings, ..self.clone() })
    }

    pub fn name(&self) -> String {
        match self.variant {
            Some(variant) => format!("{} {variant}", self.profile),
            None => self.profile.to_owned(),
        }
    }
}

/// Every profile by itself and with every variant.
pub fn all_cases() -> Vec<ProfileCase> {
    let with_variants = |profile: &'static str| {
        let variants = VARIANTS.iter().map(move |variant| ProfileCase::new(profile, Some(variant.name)));
        [ProfileCase::new(profile, None)].into_iter().chain(variants)
    };
    PROFILES.iter().flat_map(|profile| with_variants(profile.name)).collect()
}

/// Cases with a snapshot: every variant with ns-2's profile, and the hosts without a variant.
pub fn snapshot_cases() -> Vec<ProfileCase> {
    let variants = VARIANTS.iter().map(|variant| ProfileCase::new("ns2", Some(variant.name)));
    let hosts = PROFILES.iter().filter(|profile| !is_ns2(profile.name)).map(|profile| ProfileCase::new(profile.name, None));
    variants.chain(hosts).collect()
}
