//! How a download goes on where it was cut. Bytes of two versions of a file never meet: what was
//! seen of the file before has to be what is seen now, and the last kept bytes are asked for once
//! more and compared.

use serde::{Deserialize, Serialize};

/// Kept bytes that are asked for again when a download goes on.
pub const OVERLAP: u64 = 4096;

/// What tells one version of a file from the next, as far as the host lets pages see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Version {
    pub etag: Option<String>,
    pub modified: Option<String>,
    /// Of the whole file.
    pub bytes: Option<u64>,
}

impl Version {
    /// Whether nothing that both know differs.
    pub fn may_be(&self, other: &Self) -> bool {
        fn fits<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
            a.is_none() || b.is_none() || a == b
        }
        fits(&self.etag, &other.etag)
            && fits(&self.modified, &other.modified)
            && fits(&self.bytes, &other.bytes)
    }

    /// For `If-Range`: weak tags may not stand there.
    pub fn if_range(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|tag| !tag.starts_with("W/"));
        strong.or(self.modified.as_deref())
    }
}

/// The head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Bytes that come, where the host says so and sends them as they are.
    pub length: Option<u64>,
    /// `Content-Range`, where pages may see it.
    pub range: Option<String>,
    pub etag: Option<String>,
    pub modified: Option<String>,
}

/// How to take an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// It begins within what is kept: this many bytes of it have to equal the last kept ones.
    GoOn { known: u64, version: Version },
    /// It is the whole file; what was kept is of no use.
    StartOver { version: Version },
    /// The host will not go on from there: forget what is kept and ask for all of it.
    AskAgain,
}

/// The first byte to ask for when `kept` bytes are there.
pub fn from(kept: u64) -> u64 {
    kept.saturating_sub(OVERLAP)
}

/// What an answer to a request for everything from [`from`]`(kept)` on is. `seen` is what was seen
/// of the file when it was first asked for.
pub fn take(kept: u64, seen: &Version, head: &Head) -> Take {
    let start = from(kept);
    let (first, total) = head.range.as_deref().and_then(range).unzip();
    let version = |bytes| Version {
        etag: head.etag.clone(),
        modified: head.modified.clone(),
        bytes,
    };
    match head.status {
        206 if kept > 0 => {
            let total = total.flatten().or(head.length.map(|rest| start + rest));
            let version = version(total);
            let whence = first.is_none_or(|first| first == start);
            let sane = total.is_none_or(|total| total >= kept);
            match whence && sane && seen.may_be(&version) {
                true => Take::GoOn {
                    known: kept - start,
                    version,
                },
                false => Take::AskAgain,
            }
        }
        206 | 416 => Take::AskAgain,
        _ => Take::StartOver {
            version: version(head.length),
        },
    }
}

/// First byte and size of the whole, from `bytes 100-199/1000`.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let first = range.split_once('-')?.0.trim().parse().ok()?;
    Some((first, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Version {
        Version {
            etag: Some("\"a\"".to_owned()),
            modified: None,
            bytes: Some(20_000),
        }
    }

    fn head(status: u16, length: u64, range: Option<&str>, etag: Option<&str>) -> Head {
        Head {
            status,
            length: Some(length),
            range: range.map(str::to_owned),
            etag: etag.map(str::to_owned),
            modified: None,
        }
    }

    #[test]
    fn only_the_same_file_goes_on() {
        let go_on =
            |head: Head| matches!(take(10_000, &seen(), &head), Take::GoOn { known: 4096, .. });
        let rest = 20_000 - 5_904;
        assert!(go_on(head(
            206,
            rest,
            Some("bytes 5904-19999/20000"),
            Some("\"a\"")
        )));
        // A host that shows neither tag nor range: the length has to fit.
        assert!(go_on(head(206, rest, None, None)));
        for other in [
            head(206, rest, Some("bytes 5904-19999/20000"), Some("\"b\"")),
            head(206, rest, Some("bytes 0-19999/20000"), Some("\"a\"")),
            head(206, rest, Some("bytes 5904-30000/30001"), None),
            head(206, rest - 1, None, None),
            head(416, 0, None, None),
        ] {
            assert_eq!(take(10_000, &seen(), &other), Take::AskAgain, "{other:?}");
        }
    }

    #[test]
    fn a_host_that_knows_no_ranges_starts_over() {
        let version = Version {
            etag: Some("\"b\"".to_owned()),
            modified: None,
            bytes: Some(30_000),
        };
        let whole = head(200, 30_000, None, Some("\"b\""));
        assert_eq!(take(10_000, &seen(), &whole), Take::StartOver { version });
        assert!(matches!(
            take(0, &Version::default(), &whole),
            Take::StartOver { .. }
        ));
        // Nobody asked for a part.
        assert_eq!(
            take(0, &Version::default(), &head(206, 5, None, None)),
            Take::AskAgain
        );
    }

    #[test]
    fn weak_tags_do_not_stand_in_if_range() {
        let weak = Version {
            etag: Some("W/\"a\"".to_owned()),
            modified: Some("Sat, 28 Nov 2026 10:00:00 GMT".to_owned()),
            bytes: None,
        };
        assert_eq!(weak.if_range(), weak.modified.as_deref());
        assert_eq!(seen().if_range(), Some("\"a\""));
    }
}
