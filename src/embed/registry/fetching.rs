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

/// Bytes that packing may add at most to a body that it cannot make smaller: its frame, and a few for
/// every thousand.
const FRAME: u64 = 64;

/// What an answer's head says of the body's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    pub bytes: u64,
    /// Whether these are the bytes that come out. Hosts that pack bodies on the way count what they
    /// send, and do not let pages of other sites see that they pack.
    pub is_exact: bool,
}

impl Length {
    /// Whether a body that came to its end after `done` bytes was cut.
    pub fn is_missed_by(self, done: u64) -> bool {
        let packed = if self.is_exact { 0 } else { FRAME + done / 256 };
        done.saturating_add(packed) < self.bytes
    }

    /// Whether `done` bytes are more than there may be.
    pub fn is_passed_by(self, done: u64) -> bool {
        self.is_exact && done > self.bytes
    }
}

/// The head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Of the body, where the host says it.
    pub length: Option<Length>,
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
            // Parts are never packed.
            let rest = head.length.map(|length| start + length.bytes);
            let total = total.flatten().or(rest);
            let version = version(total);
            let whence = first.is_none_or(|first| first == start);
            let sane = total.is_none_or(|total| total >= kept);
            // Where all of it is there, the size that was told first was that of packed bytes.
            let seen = Version {
                bytes: seen.bytes.filter(|_| total != Some(kept)),
                ..seen.clone()
            };
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
            version: version(head.length.map(|length| length.bytes)),
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
            length: Some(Length {
                bytes: length,
                is_exact: true,
            }),
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
    fn a_size_of_packed_bytes_is_no_fault_of_what_came() {
        let told = |bytes, is_exact| Length { bytes, is_exact };
        // A tokenizer of 17,098,251 bytes is packed into some five million.
        let packed = told(5_046_321, false);
        assert!(!packed.is_missed_by(17_098_251) && !packed.is_passed_by(17_098_251));
        assert!(packed.is_missed_by(3_000_000));
        // `{"pooling_mode_cls_token": true}`: 32 bytes, 52 once packed by gzip.
        assert!(!told(52, false).is_missed_by(32));
        // What is told exactly is meant so.
        assert!(told(52, true).is_missed_by(51) && told(52, true).is_passed_by(53));
        assert!(!told(52, true).is_missed_by(52) && !told(52, true).is_passed_by(52));
        // Asked for the rest of what is whole: its true size is another than was told.
        let whole = Head {
            etag: None,
            ..head(206, OVERLAP, None, None)
        };
        let seen = Version {
            bytes: Some(20_050),
            ..Version::default()
        };
        assert!(matches!(
            take(20_000, &seen, &whole),
            Take::GoOn { known: OVERLAP, .. }
        ));
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
