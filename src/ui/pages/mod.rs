//! One module a view. The hosts give the two large views what they show.

mod about;
mod dead_ends;
pub mod instance;
mod instance_host;
mod instances;
mod lost;
pub mod results;
mod results_host;
mod search;
mod settings;
mod start;

pub use about::AboutPage;
pub use instance_host::{INSTANCE_KEYS, InstanceHost};
pub use instances::InstancesPage;
pub use lost::LostPage;
pub use results_host::ResultsHost;
pub use search::SearchPage;
pub use settings::SettingsPage;
pub use start::StartPage;
