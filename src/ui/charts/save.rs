//! Figures as files: the SVG as it is, and as PNG by way of a canvas.

use crate::browser::error::{BrowserError, tried};
use crate::browser::files;
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlCanvasElement, HtmlImageElement, Url};

/// Pixels of a PNG for each unit of the figure.
const SCALE: f64 = 2.0;

/// Saves the figure's text.
pub fn svg(name: &str, text: &str) -> Result<(), BrowserError> {
    files::download(name, "image/svg+xml", &[text.as_bytes()])
}

/// Draws the figure and saves the picture.
pub async fn png(name: &str, text: &str, width: f64, height: f64) -> Result<(), BrowserError> {
    let bytes = draw(text, width, height)
        .await
        .map_err(tried("drawing the figure"))?;
    files::download(name, "image/png", &[&bytes])
}

async fn draw(text: &str, width: f64, height: f64) -> Result<Vec<u8>, JsValue> {
    let image = load(text).await?;
    let canvas: HtmlCanvasElement = leptos::prelude::document()
        .create_element("canvas")?
        .dyn_into()?;
    canvas.set_width((width * SCALE) as u32);
    canvas.set_height((height * SCALE) as u32);
    let context = canvas
        .get_context("2d")?
        .ok_or("the browser gave no canvas to draw on")?;
    // One call by name spares the page the bindings of the whole drawing interface.
    let draw_image: Function = Reflect::get(&context, &"drawImage".into())?.dyn_into()?;
    let (w, h) = (width * SCALE, height * SCALE);
    let place = Array::of5(&image, &0.into(), &0.into(), &w.into(), &h.into());
    draw_image.apply(&context, &place)?;
    pixels(&canvas).await
}

async fn load(text: &str) -> Result<HtmlImageElement, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type("image/svg+xml");
    let parts = Array::of1(&JsValue::from_str(text));
    let blob = Blob::new_with_str_sequence_and_options(&parts, &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let image = HtmlImageElement::new()?;
    image.set_src(&url);
    let decoded = JsFuture::from(image.decode()).await;
    Url::revoke_object_url(&url)?;
    decoded.map(|_| image)
}

async fn pixels(canvas: &HtmlCanvasElement) -> Result<Vec<u8>, JsValue> {
    let mut begun = Ok(());
    let made = Promise::new(&mut |resolve, _| {
        begun = canvas.to_blob_with_type(&resolve, "image/png");
    });
    begun?;
    let blob: Blob = JsFuture::from(made).await?.dyn_into()?;
    let buffer = JsFuture::from(blob.array_buffer()).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
