//! In the place of the general engine where the program is built without it.

use super::EmbedError;
use super::file::ModelFile;
use super::spec::Pooling;
use std::convert::Infallible;

/// Never exists.
pub(super) struct General(Infallible);

impl General {
    pub fn load(_: &ModelFile) -> Result<Self, EmbedError> {
        let why = "float32 arithmetic, or a graph that the encoder does not know".to_owned();
        Err(EmbedError::General { why })
    }

    pub fn run(&self, _: &[u32], _: Option<Pooling>) -> Result<(Vec<f32>, bool), EmbedError> {
        match self.0 {}
    }
}
