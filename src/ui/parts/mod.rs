//! Small components that know no page: all they show comes by props.

pub mod copy;
pub mod markdown;
