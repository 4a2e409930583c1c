//! Splits one line of a `command` or `setup` file into words as a shell would, without
//! any expansion.

/// Splits at spaces outside quotes. `'…'` is literal; outside it `\n`, `\t`, `\0`, `\xHH`
/// and `\` before any other character have their usual meaning.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (' ' | '\t', None) => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(mark)) if letter == mark => quote = None,
            ('\\', None | Some('"')) => {
                let byte = escape(&mut letters).ok_or("a `\\` that ends nothing")?;
                word.get_or_insert_default().extend(byte);
            }
            _ => word
                .get_or_insert_default()
                .extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    if quote.is_some() {
        return Err("a quote that does not end".into());
    }
    words.extend(word);
    words
        .into_iter()
        .map(|word| String::from_utf8(word).map_err(|_| "a word that is not UTF-8".into()))
        .collect()
}

fn escape(letters: &mut std::str::Chars<'_>) -> Option<Vec<u8>> {
    let letter = letters.next()?;
    Some(match letter {
        'n' => b"\n".to_vec(),
        't' => b"\t".to_vec(),
        '0' => b"\0".to_vec(),
        'x' => {
            let digits: String = letters.by_ref().take(2).collect();
            vec![u8::from_str_radix(&digits, 16).ok()?]
        }
        other => other.to_string().into_bytes(),
    })
}
