//! GET with progress, a size limit, cancellation, and errors a visitor can act on.

use super::abort::Abort;
use super::body::Body;
use super::error::BrowserError;
use super::page;
use crate::embed::registry::fetching::{Head, Length};
use crate::llm::{LlmError, reach};
use js_sys::Uint8Array;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Request, RequestCache, RequestCredentials, RequestInit, Response};

/// Bytes so far, of how many when that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: Option<u64>,
}

impl Progress {
    /// 0 to 1, when the total is known.
    pub fn fraction(self) -> Option<f64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some((self.done as f64 / total as f64).min(1.0))
    }
}

/// Told about every piece that arrives.
pub type OnProgress = Rc<dyn Fn(Progress)>;

/// For callers who show nothing.
pub fn silent() -> OnProgress {
    Rc::new(|_| {})
}

/// A complete answer with a success status. The bytes stay on the browser's side, so that they can
/// be hashed, cached and handed to a worker without growing the page's own memory.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// After redirects.
    pub url: String,
    pub status: u16,
    pub content_type: Option<String>,
    pub bytes: Uint8Array,
}

/// Why a download failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("cancelled")]
    Cancelled,
    #[error("{url} could not be reached: this device is offline")]
    Offline { url: String },
    #[error(
        "{url} could not be read: the host did not answer, or does not let other sites read it (CORS)"
    )]
    Unreachable { url: String },
    #[error("{url} is plain http, which a page opened over https may not load")]
    MixedContent { url: String },
    #[error("{url} does not exist (status {status})")]
    NotFound { url: String, status: u16 },
    #[error("{url} answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("{url} answered with a web page instead of data")]
    HtmlPage { url: String },
    #[error("{url} has more than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error("{url} broke off after {done} bytes: {cause}")]
    Cut {
        url: String,
        done: u64,
        cause: String,
    },
}

impl FetchError {
    /// What the visitor can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Cancelled => return None,
            Self::Offline { .. } => "Connect and try again; what was opened before still works.",
            Self::Unreachable { .. } => {
                "Open the address in a tab of its own. If it loads there, its host has to send “Access-Control-Allow-Origin: *”; or download the files and drop them here."
            }
            Self::MixedContent { .. } => {
                "Use an https address, or download the files and drop them here."
            }
            Self::NotFound { .. } => {
                "Check the address for typing errors and the case of its letters."
            }
            Self::Status {
                status: 401 | 403, ..
            } => "The host asks for permission; data has to be readable by everybody.",
            Self::Status { status: 429, .. } => {
                "The host limits how often it answers; wait a minute and try again."
            }
            Self::Status { .. } => "Try again later, or tell whoever runs the host.",
            Self::HtmlPage { .. } => {
                "Use the address of the file itself, not of the page that shows it."
            }
            Self::TooLarge { .. } => {
                "Check that it is the right file; larger datasets have to be cut into more shards."
            }
            Self::Cut { .. } => "Try again; complete files are kept, so nothing is loaded twice.",
        })
    }

    /// Whether the network, not the file, is at fault, so that a kept copy may stand in.
    pub fn is_network(&self) -> bool {
        matches!(
            self,
            Self::Offline { .. } | Self::Unreachable { .. } | Self::Cut { .. }
        ) || matches!(self, Self::Status { status: 500.., .. })
    }
}

/// How much of the browser's own cache may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As the host says.
    Normal,
    /// Ask the host whether it changed.
    Revalidate,
    /// From the host in any case.
    Reload,
}

/// What to fetch and how much of it.
pub struct Get<'a> {
    /// Absolute address.
    pub url: &'a str,
    /// Bytes after the browser removed transport compression; more is refused.
    pub limit: u64,
    /// Size from a manifest: the total for progress when the server names none.
    pub expect: Option<u64>,
    pub freshness: Freshness,
    pub progress: &'a OnProgress,
    pub abort: &'a Abort,
}

/// Downloads one file.
pub async fn get(what: Get<'_>) -> Result<Fetched, FetchError> {
    let url = what.url.to_owned();
    if is_mixed_content(&url) {
        return Err(FetchError::MixedContent { url });
    }
    let response = send(request(&what)?, what.url, what.abort).await?;
    let content_type = header(&response, "content-type");
    refuse_status(&url, response.status())?;
    refuse_page(&url, &response)?;
    Ok(Fetched {
        url: response.url(),
        status: response.status(),
        content_type,
        bytes: read(&response, &what).await?,
    })
}

/// The rest of a file, from some byte on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub from: u64,
    /// What the file has to be still, as the host called it; else all of it is wanted.
    pub if_range: Option<String>,
}

/// Asks for a file, or for the rest of it, and gives the answer with its body unread.
pub(super) async fn open(
    url: &str,
    part: Option<&Part>,
    abort: &Abort,
) -> Result<(Response, Head), FetchError> {
    if is_mixed_content(url) {
        return Err(FetchError::MixedContent {
            url: url.to_owned(),
        });
    }
    let response = match part {
        None => send(plain(url, "GET", &[], abort)?, url, abort).await?,
        Some(part) => rest(url, part, abort).await?,
    };
    let status = response.status();
    if status != 416 {
        refuse_status(url, status)?;
    }
    refuse_page(url, &response)?;
    let head = Head {
        status,
        length: length(&response),
        range: header(&response, "content-range"),
        etag: header(&response, "etag"),
        modified: header(&response, "last-modified"),
    };
    Ok((response, head))
}

/// A host that does not let other sites say `If-Range` refuses the whole request; what comes
/// without it is compared with what was seen before instead.
async fn rest(url: &str, part: &Part, abort: &Abort) -> Result<Response, FetchError> {
    let range = ("range", format!("bytes={}-", part.from));
    if let Some(tag) = &part.if_range {
        let headers = [range.clone(), ("if-range", tag.clone())];
        match send(plain(url, "GET", &headers, abort)?, url, abort).await {
            Err(FetchError::Unreachable { .. }) => {}
            answered => return answered,
        }
    }
    send(plain(url, "GET", &[range], abort)?, url, abort).await
}

/// Whether there is such a file, and its size where the host says so.
pub(super) async fn size_of(url: &str, abort: &Abort) -> Result<Option<u64>, FetchError> {
    if is_mixed_content(url) {
        return Err(FetchError::MixedContent {
            url: url.to_owned(),
        });
    }
    let mut response = send(plain(url, "HEAD", &[], abort)?, url, abort).await?;
    if matches!(response.status(), 400 | 403 | 405 | 501) {
        // Some hosts answer no HEAD. The body is let go of before it comes.
        response = send(plain(url, "GET", &[], abort)?, url, abort).await?;
        drop(Body::of(&response));
    }
    refuse_status(url, response.status())?;
    refuse_page(url, &response)?;
    Ok(length(&response).map(|length| length.bytes))
}

/// How long the body is, where the host says it and counts the bytes that come out, or may do so.
fn length(response: &Response) -> Option<Length> {
    if header(response, "content-encoding").is_some() {
        return None;
    }
    let bytes = header(response, "content-length")?.parse().ok()?;
    let own = format!("{}/", page::origin());
    Some(Length {
        bytes,
        // Parts are never packed; of other origins, pages are not told whether the whole is.
        is_exact: response.status() == 206 || response.url().starts_with(&own),
    })
}

fn plain(
    url: &str,
    method: &str,
    headers: &[(&str, String)],
    abort: &Abort,
) -> Result<Request, FetchError> {
    let unreachable = |_| FetchError::Unreachable {
        url: url.to_owned(),
    };
    let named = web_sys::Headers::new().map_err(unreachable)?;
    for (name, value) in headers {
        named.set(name, value).map_err(unreachable)?;
    }
    let init = RequestInit::new();
    init.set_method(method);
    init.set_headers_headers(&named);
    init.set_signal(Some(&abort.signal()));
    init.set_credentials(RequestCredentials::Omit);
    // Parts of large files are no use to the browser's own cache.
    init.set_cache(RequestCache::NoStore);
    Request::new_with_str_and_init(url, &init).map_err(unreachable)
}

fn refuse_page(url: &str, response: &Response) -> Result<(), FetchError> {
    let kind = header(response, "content-type");
    match kind.is_some_and(|kind| kind.starts_with("text/html")) {
        true => Err(FetchError::HtmlPage {
            url: url.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Browsers refuse plain http on an https page before they ask anybody, so that can be said.
fn is_mixed_content(url: &str) -> bool {
    let allowed = reach::allowed_from(&page::origin(), url);
    matches!(allowed, Err(LlmError::MixedContent { .. }))
}

/// A response header, if the host lets pages see it.
pub(super) fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).ok().flatten()
}

fn request(what: &Get<'_>) -> Result<Request, FetchError> {
    let init = RequestInit::new();
    init.set_signal(Some(&what.abort.signal()));
    init.set_credentials(RequestCredentials::Omit);
    init.set_cache(match what.freshness {
        Freshness::Normal => RequestCache::Default,
        Freshness::Revalidate => RequestCache::NoCache,
        Freshness::Reload => RequestCache::Reload,
    });
    let unreachable = |_| FetchError::Unreachable {
        url: what.url.to_owned(),
    };
    Request::new_with_str_and_init(what.url, &init).map_err(unreachable)
}

/// Waits for the answer's head.
async fn send(request: Request, url: &str, abort: &Abort) -> Result<Response, FetchError> {
    let answer = JsFuture::from(page::window().fetch_with_request(&request)).await;
    answer.map(JsCast::unchecked_into).map_err(|_| {
        let url = url.to_owned();
        match (abort.is_aborted(), page::is_online()) {
            (true, _) => FetchError::Cancelled,
            (false, false) => FetchError::Offline { url },
            (false, true) => FetchError::Unreachable { url },
        }
    })
}

fn refuse_status(url: &str, status: u16) -> Result<(), FetchError> {
    let url = url.to_owned();
    match status {
        200..=299 => Ok(()),
        404 | 410 => Err(FetchError::NotFound { url, status }),
        _ => Err(FetchError::Status { url, status }),
    }
}

async fn read(response: &Response, what: &Get<'_>) -> Result<Uint8Array, FetchError> {
    let named = length(response);
    let too_large = || FetchError::TooLarge {
        url: what.url.to_owned(),
        limit: what.limit,
    };
    if named.is_some_and(|named| named.bytes > what.limit) {
        drop(Body::of(response)); // letting go of the body ends the download
        return Err(too_large());
    }
    let total = named.map(|named| named.bytes).or(what.expect);
    let (mut pieces, mut done) = (Vec::new(), 0);
    let mut body = Body::of(response).map_err(|error| cut(what, done, error))?;
    while let Some(piece) = body.next().await.map_err(|error| cut(what, done, error))? {
        done += u64::from(piece.length());
        if done > what.limit {
            return Err(too_large());
        }
        pieces.push(piece);
        (what.progress)(Progress { done, total });
    }
    if named.is_some_and(|named| named.is_missed_by(done)) {
        return Err(cut(
            what,
            done,
            BrowserError::new("reading", "the connection closed early"),
        ));
    }
    Ok(join(&pieces, done))
}

fn cut(what: &Get<'_>, done: u64, error: BrowserError) -> FetchError {
    if what.abort.is_aborted() {
        return FetchError::Cancelled;
    }
    FetchError::Cut {
        url: what.url.to_owned(),
        done,
        cause: error.cause,
    }
}

/// Pieces one after the other; `bytes` is their total, which the size limit keeps below 4 GB.
pub(super) fn join(pieces: &[Uint8Array], bytes: u64) -> Uint8Array {
    let whole = Uint8Array::new_with_length(bytes as u32);
    let mut at = 0;
    for piece in pieces {
        whole.set(piece.as_ref() as &JsValue, at);
        at += piece.length();
    }
    whole
}
