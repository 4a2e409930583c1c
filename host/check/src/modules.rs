//! The modules that the interpreters have, and the packages that need native code.
//!
//! `python.modules` and `node.modules` are written by tests that ask the interpreters
//! (`the_list_of_python_modules_is_up_to_date`, `the_table_of_node_modules_is_up_to_date`), so they
//! cannot drift from what the interpreters have.

use super::facts::is_one_of;

/// How much of a standard library module is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Availability {
    Complete,
    /// It can be imported, but using some of it is an error. The text says what.
    Limited(String),
    /// Importing it is an error. The text says why.
    Absent(String),
}

/// Python modules that can be imported and whose main use is an error, with the reason.
const LIMITED: [(&str, &str); 17] = [
    ("threading", THREADS),
    ("concurrent.futures", THREADS),
    ("multiprocessing", PROCESSES),
    ("subprocess", PROCESSES),
    ("socket", NETWORK),
    ("socketserver", NETWORK),
    ("http.server", NETWORK),
    ("http.client", NETWORK),
    ("urllib.request", NETWORK),
    ("smtplib", NETWORK),
    ("ftplib", NETWORK),
    ("imaplib", NETWORK),
    ("poplib", NETWORK),
    ("wsgiref", NETWORK),
    ("xmlrpc", NETWORK),
    ("webbrowser", PROCESSES),
    ("dbm", "only its slow form is available"),
];
const THREADS: &str = "starting a thread is an error in the sandbox";
const PROCESSES: &str = "starting a process is an error in the sandbox";
const NETWORK: &str = "network access is an error in the sandbox";

/// How much of the module `name` the Python interpreter has.
pub(super) fn python(name: &str) -> Option<Availability> {
    let root = name.split('.').next().unwrap_or_default();
    let entry = line(include_str!("python.modules"), root)?;
    if let Some(why) = entry.strip_prefix("absent") {
        return Some(Availability::Absent(why.trim().to_owned()));
    }
    let below = |module: &str| {
        name == module
            || name
                .strip_prefix(module)
                .is_some_and(|rest| rest.starts_with('.'))
    };
    let limit = LIMITED.iter().find(|(module, _)| below(module));
    Some(limit.map_or(Availability::Complete, |(_, why)| {
        Availability::Limited((*why).to_owned())
    }))
}

/// How much of Node's module `name` the JavaScript interpreter has. `uses` returns whether a source uses a name.
pub(super) fn node(name: &str, uses: impl Fn(&str) -> bool) -> Option<Availability> {
    let plain = name.strip_prefix("node:").unwrap_or(name);
    let entry = line(include_str!("node.modules"), plain)?;
    let (state, rest) = entry.split_once(' ').unwrap_or((entry, ""));
    Some(match state {
        "absent" => Availability::Absent("the runtime does not implement it".into()),
        "granted" => Availability::Limited(format!(
            "each use is an error that names the grant `{rest}`"
        )),
        "partial" => {
            let missing: Vec<_> = rest.split(' ').filter(|name| uses(name)).collect();
            match missing.is_empty() {
                true => Availability::Complete,
                false => Availability::Limited(format!("it lacks `{}`", missing.join(" "))),
            }
        }
        _ => Availability::Complete,
    })
}

/// The rest of the line that starts with `word`.
fn line<'a>(table: &'a str, word: &str) -> Option<&'a str> {
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| match line.split_once(' ') {
            Some((name, rest)) if name == word => Some(rest),
            None if line == word => Some(""),
            _ => None,
        })
}

/// Whether a Python package is known to need native code, or to be useless without it.
pub(super) fn is_native_python(root: &str) -> bool {
    is_one_of(root, NATIVE_PYTHON)
}

/// Whether an npm package is known to need native code.
pub(super) fn is_native_npm(package: &str) -> bool {
    is_one_of(package, NATIVE_NPM)
}

const NATIVE_PYTHON: &str = "\
    MySQLdb OpenSSL PIL PyQt5 PyQt6 PySide6 _cffi_backend accelerate av bcrypt blosc cairo cairosvg \
    cartopy catboost cffi chromadb contourpy cryptography cv2 datasets diffusers docling docx duckdb \
    easyocr faiss fastapi fiona fitz gensim geopandas gevent google greenlet grpc h5py imagehash \
    imageio jax keras librosa lightgbm llama_cpp llvmlite lxml lz4 matplotlib mlx moviepy msgspec \
    nacl netCDF4 numba numexpr numpy onnx onnxruntime orjson osgeo paddleocr pandas pdfplumber \
    pikepdf playwright plotnine polars pptx psutil psycopg psycopg2 pyarrow pyaudio pyautogui pycurl \
    pydantic pydantic_core pygame pymupdf pypdfium2 pyproj pytesseract rapidfuzz rasterio regex \
    rembg reportlab rpds safetensors scipy seaborn sentence_transformers sentencepiece setproctitle \
    shapely skimage sklearn snappy sounddevice soundfile spacy statsmodels tables tensorflow \
    tiktoken tokenizers torch torchaudio torchvision transformers ujson uvloop weasyprint whisper \
    xgboost xxhash zmq zstandard";

const NATIVE_NPM: &str = "\
    @napi-rs/canvas @resvg/resvg-js argon2 bcrypt better-sqlite3 bufferutil canvas duckdb electron \
    esbuild fsevents leveldown lightningcss node-pty onnxruntime-node playwright playwright-core \
    puppeteer re2 rollup sharp sqlite3 swc @swc/core tree-sitter usb zeromq";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_distinguish_whole_limited_and_absent_modules() {
        assert_eq!(python("json"), Some(Availability::Complete));
        assert_eq!(python("urllib.parse"), Some(Availability::Complete));
        assert!(matches!(
            python("urllib.request"),
            Some(Availability::Limited(_))
        ));
        assert!(matches!(python("ssl"), Some(Availability::Absent(_))));
        assert_eq!(python("requests"), None);
        assert_eq!(node("node:path", |_| true), Some(Availability::Complete));
        assert_eq!(node("fs", |_| false), Some(Availability::Complete));
        assert!(matches!(
            node("fs", |name| name == "Utf8Stream"),
            Some(Availability::Limited(_))
        ));
        assert!(matches!(
            node("https", |_| false),
            Some(Availability::Limited(_))
        ));
        assert!(matches!(
            node("node:wasi", |_| false),
            Some(Availability::Absent(_))
        ));
        assert_eq!(node("express", |_| true), None);
    }
}
