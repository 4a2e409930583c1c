//! The control sequences around a question.
//!
//! Earlier output may have left the terminal in any state: in the middle of an escape sequence, with the text colour
//! equal to the background, with a scroll region of one row. So we end and reset everything, and draw the question on
//! the alternate screen in our own colours, where no earlier text can appear beside it. The person's screen comes back
//! afterwards.
//!
//! Not a full reset (`ESC c`): it would erase the person's screen, and in some terminals the scrollback.
//!
//! A terminal ignores the sequences it does not know, or prints some characters that the question overwrites.

use super::sheet::Window;

/// Ends any unfinished sequence and leaves the modes in which the other sequences mean something else.
///
/// `CAN` and `ST`: an escape sequence or a string (OSC, DCS, APC, PM, SOS) without its end would swallow the question.
/// tmux ends some of them by `ST` alone. `ESC ETX`: xterm leaves the Tektronix window. `ESC <`: back from VT52.
const END: &str = "\u{18}\u{1b}\\\u{1b}\u{3}\u{1b}<";

/// Leaves an alternate screen that another program entered, with its margins. Margins move the cursor, so its position
/// is saved around them. The soft reset (DECSTR) comes after: it clears the saved position and does not move the cursor.
const LEAVE_OTHER: &str = "\u{1b}7\u{1b}[?1049l\u{1b}[?69l\u{1b}[r\u{1b}8\u{1b}[!p";

/// Attributes, character sets and modes as they are in a new terminal. Nothing here moves the cursor.
const MODES: &str = concat!(
    // Synchronized output, which the terminal holds back until an update ends.
    "\u{1b}[?2026l",
    // Attributes, protected cells, and a link that was never closed.
    "\u{1b}[0m\u{1b}[0\"q\u{1b}]8;;\u{1b}\\",
    // UTF-8, and ASCII in G0 to G3 with G0 in use.
    "\u{1b}%G\u{1b}(B\u{1b})B\u{1b}*B\u{1b}+B\u{f}",
    // Keyboard lock, insert, local echo, newline mode.
    "\u{1b}[2l\u{1b}[4l\u{1b}[12h\u{1b}[20l",
    // Cursor keys, reverse video, national character sets, wrapping backwards, keypad, side margins.
    "\u{1b}[?1l\u{1b}[?5l\u{1b}[?42l\u{1b}[?45l\u{1b}[?66l\u{1b}>\u{1b}[?69l",
    // Autowrap, the cursor and its shape.
    "\u{1b}[?7h\u{1b}[?25h\u{1b}[0 q",
    // Reports of the mouse, the focus, pasted text, colour schemes and sizes: none is an answer.
    "\u{1b}[?9l\u{1b}[?1000l\u{1b}[?1001l\u{1b}[?1002l\u{1b}[?1003l\u{1b}[?1004l\u{1b}[?1005l",
    "\u{1b}[?1006l\u{1b}[?1015l\u{1b}[?1016l\u{1b}[?2004l\u{1b}[?2031l\u{1b}[?2048l",
    // Keys that arrive as escape sequences.
    "\u{1b}[>4m\u{1b}[?9001l",
    // Tab stops at every eighth column.
    "\u{1b}[?5W",
);

/// The palette (also the one of the Linux console), the special colours, and text, background, cursor, pointer and
/// selection.
const COLOURS: &str = concat!(
    "\u{1b}]R\u{1b}\\\u{1b}]104\u{1b}\\\u{1b}]105\u{1b}\\\u{1b}]110\u{1b}\\\u{1b}]111\u{1b}\\",
    "\u{1b}]112\u{1b}\\\u{1b}]113\u{1b}\\\u{1b}]114\u{1b}\\\u{1b}]117\u{1b}\\\u{1b}]119\u{1b}\\",
);

/// The alternate screen with its own origin, margins, keyboard protocol and pictures. The first two move the cursor,
/// so they must not come earlier.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?6l\u{1b}[r\u{1b}[=0;1u\u{1b}_Ga=d,d=A;\u{1b}\\";

/// The title says that we ask while a question is open. The terminal keeps the previous title.
const SAVE_TITLE: &str = "\u{1b}[22;0t";
const TITLE: &str = "\u{1b}]2;skillrun asks\u{1b}\\";
const RESTORE_TITLE: &str = "\u{1b}[23;0t";

/// White on black, whatever the default colours are. First from the palette, for terminals without 24-bit colours.
/// Those read `2` as faint and `1` as bold, so we reset both. The background is 1, 1, 1 and not 0, 0, 0: there, each 0
/// would reset everything.
const PAINT: &str = concat!(
    "\u{1b}[38;5;231m\u{1b}[48;5;16m",
    "\u{1b}[38;2;255;255;255m\u{1b}[48;2;1;1;1m",
    "\u{1b}[22;24;25;27;28;29m",
);

/// Prepares the terminal for a question. A [`frame`] must follow, which enters the alternate screen.
pub(super) fn open() -> String {
    [END, LEAVE_OTHER, MODES, SAVE_TITLE].concat()
}

/// Draws `text` as the whole screen, and leaves the cursor at its end.
///
/// It does not rely on an earlier frame: other processes may write to the terminal while a question is open.
pub(super) fn frame(text: &str, window: Window) -> String {
    let mut frame = [END, MODES, ENTER, COLOURS, TITLE, PAINT].concat();
    for row in 1..=window.rows {
        // A row of double width would show half of its text.
        frame.push_str(&format!("\u{1b}[{row};1H\u{1b}#5"));
    }
    frame.push_str("\u{1b}[H\u{1b}[J");
    frame.push_str(text);
    // Drawn last: from here on, keys are an answer to the question.
    frame.push_str("\u{1b}[?25h");
    frame
}

/// Returns to the screen before the question.
pub(super) fn close() -> String {
    let alternate = [END, MODES, COLOURS, "\u{1b}[r\u{1b}[H\u{1b}[J"];
    let before = ["\u{1b}[?1049l", MODES, RESTORE_TITLE];
    [alternate.concat(), before.concat()].concat()
}
