//! JSON as Inspect writes it: two spaces of indent, and bare `NaN` for what was not scored.

use serde::{Serialize, Serializer};
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, Write};

/// Stands for `NaN` on its way to the formatter: serde_json itself turns a `NaN` into `null`,
/// which no longer differs from a value that is absent. No other field is 128 bits wide.
const NAN: i128 = i128::MIN;

/// Serializes a score; `NaN` stays `NaN`.
pub fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_nan() {
        serializer.serialize_i128(NAN)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// The text of a value built from [`number`]s.
pub fn to_text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut out = serde_json::Serializer::with_formatter(&mut bytes, Lenient::default());
    value
        .serialize(&mut out)
        .expect("maps have text keys and a Vec takes all bytes");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

#[derive(Default)]
struct Lenient(PrettyFormatter<'static>);

macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),*));* $(;)?) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        })*
    };
}

impl Formatter for Lenient {
    fn write_i128<W: ?Sized + Write>(&mut self, writer: &mut W, value: i128) -> io::Result<()> {
        match value {
            NAN => writer.write_all(b"NaN"),
            value => write!(writer, "{value}"),
        }
    }

    forward! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}
