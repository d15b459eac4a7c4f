//! One request to a model endpoint: sent, timed, read whole or as a stream.

use super::abort::Abort;
use super::body::Body;
use super::clock::{now_ms, sleep};
use super::page;
use super::transport::{Heard, OnHeard};
use crate::llm::http::{HttpRequest, HttpResponse};
use crate::llm::provider::Provider;
use crate::llm::reach::Probe;
use crate::llm::{Delta, LlmError, Reply, reach};
use futures::future::{Either, select};
use js_sys::Array;
use std::future::Future;
use std::pin::pin;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Request, RequestCache, RequestCredentials, RequestInit, RequestMode, RequestRedirect, Response,
};

/// An answer larger than this is none.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// A server that is there answers a probe sooner.
const PROBE_SECONDS: f64 = 8.0;

/// How long a call may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Without a single byte. Models that think before they write send nothing for a while.
    pub idle_seconds: f64,
    pub total_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle_seconds: 120.0,
            total_seconds: 600.0,
        }
    }
}

/// The way to one endpoint.
pub(super) struct Wire<'a> {
    pub provider: &'static Provider,
    pub base_url: &'a str,
    pub limits: &'a Limits,
    pub abort: &'a Abort,
    /// Hears status and headers of each response, as far as the server lets a page see them.
    pub seen: &'a dyn Fn(&HttpResponse),
}

/// Ends the request on the network when whoever wanted its answer has gone.
struct Switch(Abort);

impl Drop for Switch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Wire<'_> {
    /// A model call. `streamed` says that the request asks for a stream; a server may still answer
    /// in one piece.
    pub async fn call(
        &self,
        request: &HttpRequest,
        streamed: bool,
        heard: &OnHeard,
    ) -> Result<Reply, LlmError> {
        let switch = Switch(Abort::new());
        self.in_time(async {
            let response = self.send(request, &switch.0).await?;
            (self.seen)(&head(&response));
            let kind = super::fetch::header(&response, "content-type").unwrap_or_default();
            if streamed && response.ok() && !kind.contains("json") {
                return self.read_stream(&response, heard).await;
            }
            self.provider.decode(&self.read_whole(&response).await?)
        })
        .await
    }

    /// Any other request, for example for the list of models.
    pub async fn whole(&self, request: &HttpRequest) -> Result<HttpResponse, LlmError> {
        let switch = Switch(Abort::new());
        self.in_time(async {
            let response = self.send(request, &switch.0).await?;
            self.read_whole(&response).await
        })
        .await
    }

    /// Whether anything answers at the address, readable or not: a request in the mode of images,
    /// without key or cookies.
    pub async fn probe(&self) -> Probe {
        let asked = self.in_time(async {
            let switch = Switch(Abort::new());
            let init = RequestInit::new();
            init.set_method("GET");
            init.set_mode(RequestMode::NoCors);
            init.set_credentials(RequestCredentials::Omit);
            init.set_cache(RequestCache::NoStore);
            init.set_signal(Some(&switch.0.signal()));
            let asking = page::window().fetch_with_str_and_init(self.base_url, &init);
            let (answer, late) = (pin!(JsFuture::from(asking)), pin!(seconds(PROBE_SECONDS)));
            Ok(matches!(
                select(answer, late).await,
                Either::Left((Ok(_), _))
            ))
        });
        match asked.await {
            Ok(true) => Probe::Answered,
            _ => Probe::Silent,
        }
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, LlmError>>,
    ) -> Result<T, LlmError> {
        let (work, stopped) = (pin!(work), pin!(self.abort.aborted()));
        let or_stopped = select(work, stopped);
        match select(or_stopped, pin!(seconds(self.limits.total_seconds))).await {
            Either::Left((Either::Left((outcome, _)), _)) => outcome,
            Either::Left((Either::Right(_), _)) => Err(LlmError::Cancelled),
            Either::Right(_) => Err(LlmError::Timeout {
                seconds: self.limits.total_seconds,
            }),
        }
    }

    /// A wait for the next sign of life.
    async fn or_idle<T>(&self, work: impl Future<Output = T>) -> Result<T, LlmError> {
        match select(pin!(work), pin!(seconds(self.limits.idle_seconds))).await {
            Either::Left((outcome, _)) => Ok(outcome),
            Either::Right(_) => Err(LlmError::Timeout {
                seconds: self.limits.idle_seconds,
            }),
        }
    }

    async fn send(&self, request: &HttpRequest, switch: &Abort) -> Result<Response, LlmError> {
        let request = to_browser(request, switch).ok_or_else(|| LlmError::BadAddress {
            given: self.base_url.to_owned(),
            why: "the browser does not take it for an address, or a header cannot be sent"
                .to_owned(),
        })?;
        let answer = JsFuture::from(page::window().fetch_with_request(&request));
        // The browser says nothing about why; whether this device is online is all a page can know.
        self.or_idle(answer)
            .await?
            .map(JsCast::unchecked_into)
            .map_err(|_| self.unreachable())
    }

    fn unreachable(&self) -> LlmError {
        let mut reasons = reach::explain_unreachable(&page::origin(), self.base_url);
        if !page::is_online() {
            reasons.insert(0, "this device is offline".to_owned());
        }
        LlmError::Unreachable {
            base_url: self.base_url.to_owned(),
            reasons,
        }
    }

    async fn read_whole(&self, response: &Response) -> Result<HttpResponse, LlmError> {
        let mut body = Body::of(response).map_err(unreadable)?;
        let mut bytes = Vec::new();
        while let Some(piece) = self.or_idle(body.next()).await?.map_err(unreadable)? {
            bytes.extend(piece.to_vec());
            refuse_flood(bytes.len())?;
        }
        Ok(HttpResponse {
            status: response.status(),
            headers: headers(response),
            body: bytes,
            received_ms: Some(now_ms()),
        })
    }

    /// A connection that breaks ends the stream like one that closes: the decoder knows whether the
    /// answer was complete by then.
    async fn read_stream(&self, response: &Response, heard: &OnHeard) -> Result<Reply, LlmError> {
        let mut body = Body::of(response).map_err(unreadable)?;
        let (mut decoder, mut bytes) = (self.provider.stream_decoder(), 0);
        loop {
            let piece = match self.or_idle(body.next()).await {
                Ok(Ok(Some(piece))) => piece.to_vec(),
                Ok(Ok(None) | Err(_)) => return decoder.finish(),
                Err(idle) => return Err(idle),
            };
            bytes += piece.len();
            refuse_flood(bytes)?;
            for delta in decoder.push(&piece) {
                if let Delta::Text(text) = delta {
                    heard(Heard::Text(&text));
                }
            }
            if decoder.is_done() {
                return decoder.finish();
            }
        }
    }
}

async fn seconds(seconds: f64) {
    sleep((seconds * 1000.0) as u32).await;
}

fn refuse_flood(bytes: usize) -> Result<(), LlmError> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(LlmError::Unreadable {
        why: format!("it has more than {MOST_BYTES} bytes"),
    })
}

fn unreadable(error: super::error::BrowserError) -> LlmError {
    LlmError::Unreadable { why: error.cause }
}

/// No cookies, no cache, and no redirect: a key goes to the host the visitor named and nowhere else.
fn to_browser(request: &HttpRequest, switch: &Abort) -> Option<Request> {
    let headers = web_sys::Headers::new().ok()?;
    for (name, value) in &request.headers {
        headers.set(name, value).ok()?;
    }
    let init = RequestInit::new();
    init.set_method(request.method);
    init.set_headers_headers(&headers);
    init.set_signal(Some(&switch.signal()));
    init.set_credentials(RequestCredentials::Omit);
    init.set_cache(RequestCache::NoStore);
    init.set_redirect(RequestRedirect::Error);
    if !request.body.is_empty() {
        init.set_body_opt_str(Some(&request.body));
    }
    Request::new_with_str_and_init(&request.url, &init).ok()
}

/// A response without its body.
fn head(response: &Response) -> HttpResponse {
    HttpResponse {
        status: response.status(),
        headers: headers(response),
        body: Vec::new(),
        received_ms: Some(now_ms()),
    }
}

/// Those headers that the server lets pages see.
fn headers(response: &Response) -> Vec<(String, String)> {
    let pairs = Array::from(response.headers().as_ref());
    let pair = |pair: wasm_bindgen::JsValue| {
        let pair: Array = pair.dyn_into().ok()?;
        Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
    };
    pairs.iter().filter_map(pair).collect()
}
