//! Sessions move between files and a database without loss.

use std::sync::Arc;

use converse_postgres::Postgres;
use converse_session::files::Durability;
use converse_session::storage::{Area, Copied, Directory, JOURNAL, Storage};
use converse_session::{SessionError, Uuid};

use crate::place::{address, id, now, read, say, server, session, store};

/// All that a session has, without what belongs to the place.
fn all(storage: &Arc<dyn Storage>, id: Uuid) -> Vec<(String, Vec<u8>)> {
    let at = storage.session(id);
    let content = at.names(Area::Content).unwrap().into_iter().map(|name| format!("content/{name}"));
    let names =
        at.names(Area::Session).unwrap().into_iter().filter(|name| !["lock", "index"].contains(&&**name));
    let kept = names.chain(content).filter(|name| name != "metadata.toml");
    kept.map(|name| (name.clone(), read(&*at, &name))).collect()
}

#[test]
fn sessions_are_copied_there_and_back_as_they_are() {
    let (server, dir) = (server(), tempfile::tempdir().unwrap());
    let url = server.database().unwrap();
    let database: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    let [files, back]: [Arc<dyn Storage>; 2] =
        ["one", "two"].map(|name| Arc::new(Directory::new(dir.path().join(name))) as Arc<dyn Storage>);
    // Plain with content; torn; damaged, with a file that nobody knows.
    (1..4).for_each(|number| session(&files, id(number), &["hello", &"long ".repeat(200_000)]));
    store(&files).contents(id(1)).put(&vec![7; 1_000_000]).unwrap();
    files.session(id(2)).lock().unwrap().append_journal().unwrap().write(b"{\"seq\":4,\n{\"torn").unwrap();
    let mut damaged = read(&*files.session(id(3)), JOURNAL);
    damaged[200] ^= 1;
    let lock = files.session(id(3)).lock().unwrap();
    lock.replace(JOURNAL, &damaged, Durability::Name).unwrap();
    lock.replace("torn-9", b"\xff\x00", Durability::Name).unwrap();
    drop(lock);

    for (from, to) in [(&files, &database), (&database, &back)] {
        // What an interrupted copy leaves is begun again.
        to.begin(id(1), true).unwrap();
        for number in 1..4 {
            assert_eq!(store(from).copy_to(&store(to), id(number)).unwrap(), Copied::New);
            assert_eq!(all(from, id(number)), all(to, id(number)), "{number}");
            let metadata = |storage| store(storage).metadata(id(number)).unwrap();
            let (mut one, mut other) = (metadata(from), metadata(to));
            assert!(number > 1 || store(to).list().unwrap().iter().all(|one| one.metadata.totals.is_some()));
            (one.totals, other.totals) = (None, None);
            assert_eq!(one, other, "{number}");
            assert_eq!(store(from).copy_to(&store(to), id(number)).unwrap(), Copied::Same);
        }
        assert_eq!(store(to).litter().len(), 0);
    }
    // The totals of a list are those of the journal at its new place.
    let summary = store(&database).summary(id(1)).unwrap();
    let at = database.session(id(1)).journal().unwrap();
    let totals = summary.metadata.totals.unwrap();
    assert_eq!((totals.journal, std::time::SystemTime::from(totals.updated)), (at.length, at.modified));

    // What went on at one place is not overwritten, and what is written now is not copied.
    let mut open = store(&database).open(id(1), now()).unwrap();
    say(&mut open, "more");
    let in_use = store(&database).copy_to(&store(&back), id(1));
    assert!(matches!(in_use, Err(SessionError::InUse { .. })));
    drop(open);
    assert_eq!(store(&database).copy_to(&store(&back), id(1)).unwrap(), Copied::Differs);
    assert_eq!(all(&files, id(1)), all(&back, id(1)));
}
