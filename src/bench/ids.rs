//! Identifiers, one type each, so that a session's id cannot stand where a requirement's is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

id!(/// One of the nine domains, for example `daily_consumption`.
    DomainId);
id!(/// One of the 66 scenarios, for example `food_ordering`.
    ScenarioId);
id!(/// A user whose history is part of the benchmark.
    PersonaId);
id!(/// A task of one persona in one scenario.
    InstanceId);
id!(/// A session within one persona's history; in date order, silent about its kind.
    SessionId);
id!(/// A hidden requirement, unique within its instance.
    RequirementId);
id!(/// A hidden preference, unique within its instance.
    PreferenceId);
