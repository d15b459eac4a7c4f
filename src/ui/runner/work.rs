//! What a run is about, fetched from its dataset.

use super::Subject;
use crate::bench::hidden::HiddenInstance;
use crate::bench::ids::{DomainId, InstanceId};
use crate::bench::shard::Shard;
use crate::bench::visible::Instance;
use crate::browser::abort::Abort;
use crate::browser::fetch;
use crate::ui::data::Open;
use crate::ui::parts::Problem;
use std::rc::Rc;
use std::sync::Arc;

/// What a run is about.
#[derive(Clone)]
pub struct Work {
    pub open: Open,
    /// Id of the shard within the dataset.
    pub shard_id: String,
    pub shard: Rc<Shard>,
    pub domain: DomainId,
    pub instance: Arc<Instance>,
    pub hidden: Arc<HiddenInstance>,
}

impl Work {
    pub fn subject(&self) -> Subject {
        Subject {
            dataset_sha256: self.open.dataset.manifest_sha256.clone(),
            instance: self.instance.id.clone(),
        }
    }

    /// Fetches the shard of an instance; the others stay where they are. `None` when the dataset
    /// has no such instance.
    pub async fn load(open: Open, id: InstanceId) -> Result<Option<Self>, Problem> {
        let Some(entry) = open.entry(&id).cloned() else {
            return Ok(None);
        };
        let domain = open.domain(&entry).id;
        let shard = open
            .dataset
            .shard(&entry.shard, &fetch::silent(), &Abort::new())
            .await;
        let shard = shard.map_err(|error| Problem::new(&error, error.hint()))?;
        let Some((instance, hidden)) = shard.instance(&id).cloned() else {
            return Ok(None);
        };
        Ok(Some(Self {
            open,
            shard_id: entry.shard,
            shard,
            domain,
            instance: Arc::new(instance),
            hidden: Arc::new(hidden),
        }))
    }
}
