//! What the interpreters bring along, and which packages need native code.
//!
//! `python.modules` and `node.modules` are written by trials that ask the interpreters
//! (`the_list_of_python_modules_is_true`, `the_table_of_node_modules_in_the_readme_is_true`), so they
//! cannot drift from what is there.

use super::facts::is_one_of;

/// How a module of the library is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Library {
    Whole,
    /// It can be imported, and some of it raises an error at its first use.
    Limited(String),
    /// Importing it is an error.
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
    ("dbm", "there is only its slow form"),
];
const THREADS: &str = "starting a thread is an error in the sandbox";
const PROCESSES: &str = "starting a process is an error in the sandbox";
const NETWORK: &str = "the network is an error in the sandbox";

/// What the Python interpreter has of the module `name`.
pub(super) fn python(name: &str) -> Option<Library> {
    let root = name.split('.').next().unwrap_or_default();
    let entry = line(include_str!("python.modules"), root)?;
    if let Some(why) = entry.strip_prefix("absent") {
        return Some(Library::Absent(why.trim().to_owned()));
    }
    let below = |module: &str| {
        name == module
            || name
                .strip_prefix(module)
                .is_some_and(|rest| rest.starts_with('.'))
    };
    let limit = LIMITED.iter().find(|(module, _)| below(module));
    Some(limit.map_or(Library::Whole, |(_, why)| {
        Library::Limited((*why).to_owned())
    }))
}

/// What the JavaScript interpreter has of Node's module `name`; `uses` tells whether a source uses a name.
pub(super) fn node(name: &str, uses: impl Fn(&str) -> bool) -> Option<Library> {
    let plain = name.strip_prefix("node:").unwrap_or(name);
    let entry = line(include_str!("node.modules"), plain)?;
    let (state, rest) = entry.split_once(' ').unwrap_or((entry, ""));
    Some(match state {
        "absent" => Library::Absent("the sandbox does not have it".into()),
        "granted" => Library::Limited(format!("each use is an error that asks for `{rest}`")),
        "partial" => {
            let lacking: Vec<_> = rest.split(' ').filter(|name| uses(name)).collect();
            match lacking.is_empty() {
                true => Library::Whole,
                false => Library::Limited(format!("it is there without `{}`", lacking.join(" "))),
            }
        }
        _ => Library::Whole,
    })
}

/// What follows the first word of the line that starts with it.
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

/// Whether a Python package is known to need native code, or to be of no use without some.
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
    fn the_tables_tell_whole_limited_and_absent_modules_apart() {
        assert_eq!(python("json"), Some(Library::Whole));
        assert_eq!(python("urllib.parse"), Some(Library::Whole));
        assert!(matches!(
            python("urllib.request"),
            Some(Library::Limited(_))
        ));
        assert!(matches!(python("ssl"), Some(Library::Absent(_))));
        assert_eq!(python("requests"), None);
        assert_eq!(node("node:path", |_| true), Some(Library::Whole));
        assert_eq!(node("fs", |_| false), Some(Library::Whole));
        assert!(matches!(
            node("fs", |name| name == "Utf8Stream"),
            Some(Library::Limited(_))
        ));
        assert!(matches!(
            node("https", |_| false),
            Some(Library::Limited(_))
        ));
        assert!(matches!(
            node("node:wasi", |_| false),
            Some(Library::Absent(_))
        ));
        assert_eq!(node("express", |_| true), None);
    }
}
