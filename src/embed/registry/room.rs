//! Whether a model fits: on the disk, into the memory of a WebAssembly program, into the machine.

use crate::embed::spec::Arithmetic;
use crate::words::size;

/// What a WebAssembly program can address.
const MOST: u64 = 4 << 30;
/// The largest single piece of memory in it, which the weights lie in.
const LARGEST_PIECE: u64 = (2 << 30) - (1 << 20);
/// Program, tokenizer, vectors of open histories.
const BESIDE: u64 = 64 << 20;
/// From this size of weights in memory on only one worker embeds.
const ONE_WORKER_FROM: u64 = 200 << 20;
const GIB: f64 = (1u64 << 30) as f64;

/// What is known of a model before it is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Graph and weights.
    pub weights: u64,
    pub tokenizer: u64,
    /// Components of a token's vector.
    pub hidden: u64,
    /// The longest text there will be, in tokens: a chunk with its prefix.
    pub tokens: u64,
}

impl Needs {
    /// Memory of one worker with the encoder, in bytes: weights as stored, a tokenizer's tables at
    /// some eight times its file, and the activations of one text (queries, keys, values, context,
    /// residual, and four times the width within the feed-forward layers, with their integers).
    pub fn encoder(&self) -> u64 {
        let activations = self.tokens * self.hidden * (5 * 4 + 4 * 6);
        self.weights + 8 * self.tokenizer + activations + BESIDE
    }

    /// The same with the general engine, which holds int8 weights as float32 and the file beside.
    pub fn general(&self) -> u64 {
        self.encoder() + 4 * self.weights
    }

    /// How many workers may embed on a machine of so many cores, computing with `arithmetic`.
    /// `device` is its memory in bytes, where the browser says so.
    pub fn workers(&self, cores: usize, device: Option<u64>, arithmetic: Arithmetic) -> usize {
        let (weights, each) = match arithmetic {
            Arithmetic::Int8 => (self.weights, self.encoder()),
            Arithmetic::Float32 => (5 * self.weights, self.general()),
        };
        if weights >= ONE_WORKER_FROM {
            return 1;
        }
        let fit = device.map_or(usize::MAX, |bytes| (bytes / 2 / each.max(1)) as usize);
        cores.min(fit).max(1)
    }

    /// Why it cannot be loaded here, in a sentence with what would help.
    pub fn too_large(&self, device: Option<u64>) -> Option<String> {
        let need = self.encoder();
        if self.weights > LARGEST_PIECE || need > MOST {
            return Some(format!(
                "the model's weights take {}, and a program in a browser tab can hold 2 GB of them: use a file with int8 weights, a quarter of the size of float32",
                size(self.weights)
            ));
        }
        let device = device?;
        (need > device).then(|| {
            format!(
                "the model takes about {} of memory, and this browser says that the device has {:.0} GB: use a smaller model, or one with int8 weights",
                size(need),
                device as f64 / GIB
            )
        })
    }
}

/// Space of this site on the disk, as the browser says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub used: u64,
    pub quota: u64,
}

impl Space {
    /// Why `bytes` more cannot be kept, in a sentence with what would help.
    pub fn lacks(&self, bytes: u64) -> Option<String> {
        let free = self.quota.saturating_sub(self.used);
        (bytes > free).then(|| {
            format!(
                "the model takes {} and this browser leaves {} for this site: delete models that are not needed, or free space on the disk",
                size(bytes),
                size(free)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BGE-M3 with int8 weights: 568 million of them, 17 MB of tokenizer.
    const M3: Needs = Needs {
        weights: 570_000_000,
        tokenizer: 17_000_000,
        hidden: 1024,
        tokens: 300,
    };

    #[test]
    fn a_large_encoder_fits_once_and_in_float32_not_at_all() {
        assert!(
            M3.encoder() > 570_000_000 && M3.encoder() < 1_000_000_000,
            "{}",
            M3.encoder()
        );
        assert_eq!(M3.too_large(None), None);
        assert_eq!(M3.workers(8, None, Arithmetic::Int8), 1);
        let float = Needs {
            weights: 2_270_000_000,
            ..M3
        };
        assert!(float.too_large(None).unwrap().contains("int8"));
        let small = M3.too_large(Some(1 << 29)).unwrap();
        assert!(
            small.contains("GB") && small.contains("smaller model"),
            "{small}"
        );
    }

    #[test]
    fn small_encoders_share_the_machine() {
        let mini = Needs {
            weights: 23_000_000,
            tokenizer: 466_000,
            hidden: 384,
            tokens: 258,
        };
        let int8 = |device| mini.workers(8, device, Arithmetic::Int8);
        assert_eq!(int8(None), 8);
        assert_eq!(int8(Some(1 << 29)), 2);
        assert_eq!(int8(Some(1)), 1);
    }

    #[test]
    fn float32_takes_the_memory_of_fewer_workers() {
        let of = |weights: u64| Needs {
            weights,
            tokenizer: 466_000,
            hidden: 768,
            tokens: 258,
        };
        // MiniLM: 100 MB each with int8, 190 MB each with float32.
        let (mini, half) = (of(23_000_000), Some(1u64 << 30));
        assert_eq!(mini.workers(8, half, Arithmetic::Int8), 5);
        assert_eq!(mini.workers(8, half, Arithmetic::Float32), 2);
        // mpnet: 110 MB as stored, half a gigabyte as float32 beside its file.
        let mpnet = of(110_000_000);
        assert_eq!(mpnet.workers(8, None, Arithmetic::Int8), 8);
        assert_eq!(mpnet.workers(8, None, Arithmetic::Float32), 1);
    }

    #[test]
    fn space_is_counted_before() {
        let space = Space {
            used: 900,
            quota: 1000,
        };
        assert_eq!(space.lacks(100), None);
        assert!(space.lacks(101).unwrap().contains("101 bytes"));
    }
}
