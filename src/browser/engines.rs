//! One engine for each embedding model in use. The shipped model's lives as long as the page; of the
//! visitor's own the latest one stays, so that two large models are in memory only while runs with
//! both go on.

use super::cache::FileCache;
use super::engine::Engine;
use super::models::{ModelError, Models};
use std::cell::RefCell;
use std::rc::Rc;

/// Handle.
#[derive(Clone)]
pub struct Engines {
    cache: FileCache,
    models: Models,
    shipped: Engine,
    /// With the name of what its vectors depend on.
    latest: Rc<RefCell<Option<(String, Engine)>>>,
}

impl Engines {
    /// `shipped` is the engine of the shipped model.
    pub fn new(cache: FileCache, models: Models, shipped: Engine) -> Self {
        Self {
            cache,
            models,
            shipped,
            latest: Rc::default(),
        }
    }

    /// The engine of the shipped model.
    pub fn shipped(&self) -> &Engine {
        &self.shipped
    }

    /// The engine of a model on the shelf.
    pub async fn kept(&self, id: &str) -> Result<Engine, ModelError> {
        let model = self.models.get(id).await.ok_or(ModelError::Gone)?;
        if let Some(fault) = &model.fault {
            return Err(ModelError::Refused(format!("{}: {fault}", model.name)));
        }
        if !model.is_ready() {
            return Err(ModelError::Refused(format!(
                "{} has not come as a whole yet: go on with it in Settings",
                model.name
            )));
        }
        let key = serde_json::to_string(&model).expect("a model's record has string keys only");
        if let Some((known, engine)) = &*self.latest.borrow()
            && *known == key
        {
            return Ok(engine.clone());
        }
        let engine = Engine::of(self.cache.clone(), model);
        self.latest.replace(Some((key, engine.clone())));
        Ok(engine)
    }

    /// Lets go of the engine of the visitor's own model; runs that use it keep it until they end.
    pub fn let_go(&self) {
        self.latest.replace(None);
    }
}
