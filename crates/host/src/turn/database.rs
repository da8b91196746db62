//! The database that sessions are kept in, if the user has one.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_postgres::{Address, AddressError, Postgres};
use converse_session::storage::Storage;

use crate::failure::{Failure, Kind};
use crate::settings::{self, Files};
use crate::world::World;

/// Returns the database of the sessions: that of `--store`, else that of the user's settings. `None` for files.
pub fn configured(flag: Option<&str>, world: &World) -> Result<Option<Arc<dyn Storage>>, Failure> {
    match flag {
        Some(url) => open(url, "--store", world).map(Some),
        None => from_settings(world)?.map(|url| open(&url, "[store] url", world)).transpose(),
    }
}

fn from_settings(world: &World) -> Result<Option<String>, Failure> {
    // Most users have no database, and their settings are not read twice.
    let Some(path) = settings::user_file(world) else { return Ok(None) };
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        // A key can also be written with escapes.
        Ok(text) if !text.contains("store") && !text.contains('\\') => return Ok(None),
        // What cannot be read is reported with all settings.
        Ok(_) | Err(_) => {}
    }
    let (files, _) = Files::read(world).checked()?;
    Ok(files.store)
}

/// Returns the sessions in the database at this URL. Nothing is contacted. `named` says where the URL is from.
pub fn open(url: &str, named: &str, world: &World) -> Result<Arc<dyn Storage>, Failure> {
    let user = world.var("PGUSER").or_else(|| world.var("USER"));
    let address = Address::parse(url, user).map_err(|error| refused(&error, named))?;
    let address = match (world.var("PGPASSWORD"), passfile(world)?) {
        (Some(password), _) => address.with_password(password),
        (None, Some(text)) => address.with_passfile(&text),
        (None, None) => address,
    };
    Ok(Arc::new(Postgres::new(address)))
}

fn refused(error: &AddressError, named: &str) -> Failure {
    let failure = Failure::usage("bad-store", format!("`{named}`: {error}"));
    match error {
        AddressError::Password => {
            failure.hint("remove the password; set `PGPASSWORD`, or write a line to `~/.pgpass`")
        }
        _ => failure.hint("for example: `postgres://me@db.example/converse?sslmode=verify-full`"),
    }
}

/// Reads the file of passwords that libpq uses. One that others can read is refused.
fn passfile(world: &World) -> Result<Option<String>, Failure> {
    let named = world.var("PGPASSFILE").map(PathBuf::from);
    let Some(path) = named.or_else(|| world.home().map(|home| home.join(".pgpass"))) else { return Ok(None) };
    let Ok(file) = std::fs::metadata(&path) else { return Ok(None) };
    let failed = |why: String| {
        Failure::new(
            Kind::Configuration,
            "bad-store",
            format!("the password file `{}` {why}", path.display()),
        )
    };
    if !file.is_file() || file.len() > MAX_PASSFILE_BYTES {
        return Err(failed("is not a small regular file".to_owned()));
    }
    if file.permissions().mode() & 0o077 != 0 {
        return Err(failed("can be read by others".to_owned()).hint(private(&path)));
    }
    std::fs::read_to_string(&path).map(Some).map_err(|error| failed(format!("cannot be read: {error}")))
}

fn private(path: &Path) -> String {
    format!("`chmod 600 {}`", path.display())
}

const MAX_PASSFILE_BYTES: u64 = 1024 * 1024;
