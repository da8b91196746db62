//! What a terminal shows: text of others made safe, measured and wrapped; Markdown as styled lines; a region that changes
//! in place; and what a page shows of the same text. Pure: strings in, strings out.

mod highlight;
pub mod html;
mod line;
mod link;
mod live;
mod look;
mod markdown;
mod table;
mod tone;
mod wrap;

pub use line::Line;
pub use live::{Live, Size};
pub use look::Look;
pub use markdown::{Stream, markdown};
pub use table::{Align, Cell, Table};
pub use tone::{Style, Tone};
pub use wrap::{broken, wrapped};
