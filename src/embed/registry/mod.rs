//! Embedding models beside the shipped one: which are known, how a folder says that it is to be
//! read, what of it has to be fetched, how a cut download goes on, and whether it fits.
//!
//! Pure: files come in as bytes and answers as numbers. [`known`] is the list of models, [`card`]
//! reads a folder's own files, [`folder`] finds what is needed in it, [`apart`] which files a graph
//! needs beside itself, [`fetching`] decides how a download goes on, [`room`] says whether there is
//! space and memory, [`kept`] is what stays.

pub mod apart;
pub mod card;
pub mod fetching;
pub mod folder;
pub mod kept;
pub mod known;
pub mod room;

pub use card::Card;
pub use kept::{KeptFile, KeptModel, Role, identity};
pub use known::{KNOWN, Known};
